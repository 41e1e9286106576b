"""What a forge answers that is no success, as errors that say who must act."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from shared.domain.errors import Misconfigured, Rejected, ReplanError, Unavailable
from shared.domain.next_step import NextStep
from shared.domain.target import Repository

STAGE: Final = "request"

_MOST = 500


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of a forge: `headers` have their names in lower case."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def content(self) -> Any:
        """Its JSON; None if it is not JSON."""
        try:
            return json.loads(self.text)
        except ValueError:
            return None

    @property
    def retry_after(self) -> float | None:
        """The seconds that the forge asks us to wait, if it says so."""
        said = self.headers.get("retry-after", "")
        return float(said) if said.isascii() and said.isdigit() else None

    @property
    def limits_rate(self) -> bool:
        """Whether we ask too often; GitHub says so with 403, too."""
        if self.status == HTTPStatus.TOO_MANY_REQUESTS:
            return True
        spent = self.headers.get("x-ratelimit-remaining") == "0"
        forbidden = self.status == HTTPStatus.FORBIDDEN
        return forbidden and (spent or self.retry_after is not None)

    @property
    def words(self) -> str:
        """What the forge says of it."""
        content = self.content
        if not isinstance(content, dict):
            return self.text.strip()[:_MOST] if content is None else str(content)[:_MOST]
        said = [content.get("message") or content.get("error"), content.get("errors")]
        return "; ".join(_texts(said))[:_MOST]


def _texts(said: object) -> Iterator[str]:
    """The texts in what a forge says: one, a list of them, or errors with a message each."""
    if isinstance(said, list):
        yield from (text for each in said for text in _texts(each))
    elif isinstance(said, dict):
        yield str(said.get("message") or said)
    elif said:
        yield str(said)


def error_of(repository: Repository, answer: Answer) -> ReplanError:
    """The error for an answer that is no success."""
    forge = repository.forge
    if forge is None:
        raise AssertionError("nobody asks a forge that is not named")
    words = f": {answer.words}" if answer.words else ""
    said = f"{forge.kind} answers {answer.status} about {forge.project}{words}"
    again = NextStep.of("repo show", repository.name)
    secret = NextStep.of("secret set", forge.token)
    match answer.status:
        case _ if answer.limits_rate:
            reason = f"{said} (it limits how often it is asked)"
            return Unavailable(reason, stage=STAGE, retry_after=answer.retry_after)
        case HTTPStatus.UNAUTHORIZED:
            reason = f"{said}; it does not accept the token in the secret {forge.token}"
            return Misconfigured(reason, stage=STAGE, next_step=secret)
        case HTTPStatus.FORBIDDEN:
            reason = f"{said}; the token in the secret {forge.token} may not open requests there"
            return Misconfigured(reason, stage=STAGE, next_step=secret)
        case HTTPStatus.NOT_FOUND:
            reason = (
                f"{said}; either there is no such project at {forge.api}, or the token in the "
                f"secret {forge.token} may not see it"
            )
            return Misconfigured(reason, stage=STAGE, next_step=again)
        case status if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return Unavailable(said, stage=STAGE, retry_after=answer.retry_after)
        case status if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            where = answer.headers.get("location", "another place")
            reason = f"{forge.api} leads to {where[:_MOST]}: name that address or project instead"
            return Misconfigured(reason, stage=STAGE, next_step=again)
        case _:
            return Rejected(said, stage=STAGE, next_step=again)


def not_a_forge(repository: Repository) -> Misconfigured:
    """The error for an answer that no forge of that kind gives."""
    forge = repository.forge
    kind, api = ("", "") if forge is None else (forge.kind.value, forge.api)
    return Misconfigured(
        f"what answers at {api} is not the interface of {kind}",
        stage=STAGE,
        next_step=NextStep.of("repo show", repository.name),
    )
