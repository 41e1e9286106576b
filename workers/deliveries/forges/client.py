"""Has a request to merge open for a branch: looks first, opens one, and looks again if in doubt."""

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from shared.domain.checkpoint import MergeRequest
from shared.domain.errors import Misconfigured, Unavailable
from shared.domain.next_step import NextStep
from shared.domain.target import Repository
from workers.deliveries.forges.answers import STAGE, Answer, error_of, not_a_forge
from workers.deliveries.forges.dialects import PAGE, OpenRequest, Question, dialect_of
from workers.deliveries.request_text import RequestText, merged_text

if TYPE_CHECKING:  # slow to load
    import httpx2

_MOST_PAGES: Final = 40
_TIMEOUT: Final = 30.0

_TAKEN = frozenset({HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY})
"""What a forge answers if there is such a request already; it may also mean something else."""


class ForgeClient:
    """Asks the forge of a repository, with a token that no message ever holds.

    Every method raises Unavailable while the forge is away or busy, Misconfigured if it does not
    let us in or is no forge, and Rejected for what it does not take.
    """

    def __init__(self, repository: Repository, token: str) -> None:
        """`token` is the value of the secret. Raises Misconfigured if it cannot be a token."""
        if repository.forge is None:
            raise AssertionError("the repository names no forge")
        self._repository = repository
        self._forge = repository.forge
        self._dialect = dialect_of(repository.forge)
        self._token = token.strip()
        if not (self._token.isascii() and self._token.isprintable() and self._token):
            raise Misconfigured(
                f"the secret {self._forge.token} is not a token of {self._forge.kind}: it is "
                "empty, or has several lines or other characters",
                stage=STAGE,
                next_step=NextStep.of("secret set", self._forge.token),
            )

    def have_open(self, branch: str, text: RequestText) -> MergeRequest:
        """The open request for the branch, which is opened if there is none.

        Our part of its text is brought up to date; what people have written there stays.
        """
        import httpx2

        with httpx2.Client(timeout=_TIMEOUT) as client:
            found = self._find(client, branch)
            if found is not None:
                self._update(client, found, text)
                return MergeRequest(found.url, found.number)
            return self._open(client, branch, text)

    def _open(self, client: "httpx2.Client", branch: str, text: RequestText) -> MergeRequest:
        """Open one. A lost answer, or one that there is already, is resolved by looking."""
        question = self._dialect.opened(branch, text.title, text.whole)
        try:
            answer = self._ask(client, question)
        except Unavailable:
            found = self._find(client, branch)
            if found is None:
                raise
            return MergeRequest(found.url, found.number, opened=True)
        if answer.status in _TAKEN:
            found = self._find(client, branch)
            if found is None:
                raise error_of(self._repository, answer)
            return MergeRequest(found.url, found.number)
        made = self._read(self._require_success(answer).content)
        return MergeRequest(made.url, made.number, opened=True)

    def _update(self, client: "httpx2.Client", found: OpenRequest, text: RequestText) -> None:
        present = found.text.replace("\r\n", "\n")
        wanted = merged_text(present, text)
        if wanted != present:
            question = self._dialect.changed(found.number, wanted)
            self._require_success(self._ask(client, question))

    def _find(self, client: "httpx2.Client", branch: str) -> OpenRequest | None:
        for page in range(1, _MOST_PAGES + 1):
            answer = self._require_success(self._ask(client, self._dialect.listed(branch, page)))
            listed = answer.content
            if not isinstance(listed, list):
                raise not_a_forge(self._repository)
            for each in map(self._read, listed):
                if (each.source, each.into) == (branch, self._forge.into):
                    return each
            if len(listed) < PAGE:
                break
        return None

    def _read(self, content: object) -> OpenRequest:
        try:
            found = self._dialect.read(content)  # type: ignore[arg-type]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise not_a_forge(self._repository) from error
        return found

    def _require_success(self, answer: Answer) -> Answer:
        if not HTTPStatus(200) <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
            raise error_of(self._repository, answer)
        return answer

    def _ask(self, client: "httpx2.Client", question: Question) -> Answer:
        import httpx2

        try:
            response = client.request(
                question.method,
                f"{self._forge.api.rstrip('/')}{question.path}",
                params=question.query,
                json=question.body,
                headers=self._dialect.headers(self._token),
            )
            said = response.text.replace(self._token, "***")
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            why = str(error) or type(error).__name__
            reason = f"{self._forge.api} does not answer: {why}"
            raise Unavailable(reason, stage=STAGE) from error
        except httpx2.InvalidURL as error:
            raise not_a_forge(self._repository) from error
        return Answer(response.status_code, dict(response.headers), said)
