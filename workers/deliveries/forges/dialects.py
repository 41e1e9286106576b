"""How GitHub, GitLab and Gitea (Forgejo too) name the same questions; pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import quote

from shared.domain.target import Forge, ForgeKind

PAGE: Final = 50
"""Requests of a page; no forge gives more to everybody."""


@dataclass(frozen=True, slots=True)
class Question:
    """An HTTP request: its path below the address of the interface, and what goes with it."""

    method: str
    path: str
    query: Mapping[str, str | int] | None = None
    body: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """A request to merge that is open on a forge."""

    number: int
    url: str
    source: str
    into: str
    text: str


class Dialect(Protocol):
    """The questions of one kind of forge about one of its projects."""

    def headers(self, token: str) -> Mapping[str, str]:
        """What says who asks."""
        ...

    def listed(self, branch: str, page: int) -> Question:
        """The open requests; at least those of the branch are among them."""
        ...

    def opened(self, branch: str, title: str, text: str) -> Question:
        """Open one."""
        ...

    def changed(self, number: int, text: str) -> Question:
        """Give one another text."""
        ...

    def read(self, answer: Mapping[str, Any]) -> OpenRequest:
        """One of them. Raises KeyError, TypeError or ValueError if it is none."""
        ...


@dataclass(frozen=True, slots=True)
class GitHub:
    """https://docs.github.com/en/rest/pulls/pulls, version 2022-11-28."""

    forge: Forge

    def headers(self, token: str) -> Mapping[str, str]:
        """See `Dialect`."""
        return {
            "authorization": f"Bearer {token}",
            "accept": "application/vnd.github+json",
            "x-github-api-version": "2022-11-28",
        }

    def listed(self, branch: str, page: int) -> Question:
        """See `Dialect`."""
        owner = self.forge.project.partition("/")[0]
        query = {"state": "open", "head": f"{owner}:{branch}", "base": self.forge.into}
        return Question("GET", self._pulls, {**query, "per_page": PAGE, "page": page})

    def opened(self, branch: str, title: str, text: str) -> Question:
        """See `Dialect`."""
        body = {"title": title, "head": branch, "base": self.forge.into, "body": text}
        return Question("POST", self._pulls, body=body)

    def changed(self, number: int, text: str) -> Question:
        """See `Dialect`."""
        return Question("PATCH", f"{self._pulls}/{number}", body={"body": text})

    def read(self, answer: Mapping[str, Any]) -> OpenRequest:
        """See `Dialect`."""
        return OpenRequest(
            int(answer["number"]),
            str(answer["html_url"]),
            self._source(answer["head"]),
            str(answer["base"]["ref"]),
            str(answer.get("body") or ""),
        )

    def _source(self, head: Mapping[str, Any]) -> str:
        """The branch; one of a fork is named with its project, for it is another one."""
        project = (head.get("repo") or {}).get("full_name") or self.forge.project
        own = str(project).lower() == self.forge.project.lower()
        return str(head["ref"]) if own else f"{project}:{head['ref']}"

    @property
    def _pulls(self) -> str:
        return f"/repos/{quote(self.forge.project)}/pulls"


@dataclass(frozen=True, slots=True)
class Gitea(GitHub):
    """https://docs.gitea.com/api (`/api/v1`): near to GitHub's, but its list knows no branch."""

    def headers(self, token: str) -> Mapping[str, str]:
        """See `Dialect`."""
        return {"authorization": f"token {token}", "accept": "application/json"}

    def listed(self, branch: str, page: int) -> Question:  # noqa: ARG002 - the caller picks
        """See `Dialect`."""
        return Question("GET", self._pulls, {"state": "open", "limit": PAGE, "page": page})


@dataclass(frozen=True, slots=True)
class GitLab:
    """https://docs.gitlab.com/api/merge_requests (`/api/v4`)."""

    forge: Forge

    def headers(self, token: str) -> Mapping[str, str]:
        """See `Dialect`."""
        return {"authorization": f"Bearer {token}", "accept": "application/json"}

    def listed(self, branch: str, page: int) -> Question:
        """See `Dialect`."""
        query = {"state": "opened", "source_branch": branch, "target_branch": self.forge.into}
        return Question("GET", self._requests, {**query, "per_page": PAGE, "page": page})

    def opened(self, branch: str, title: str, text: str) -> Question:
        """See `Dialect`."""
        names = {"source_branch": branch, "target_branch": self.forge.into}
        return Question("POST", self._requests, body={**names, "title": title, "description": text})

    def changed(self, number: int, text: str) -> Question:
        """See `Dialect`."""
        return Question("PUT", f"{self._requests}/{number}", body={"description": text})

    def read(self, answer: Mapping[str, Any]) -> OpenRequest:
        """See `Dialect`."""
        # The branch of a fork is another one.
        fork = answer.get("source_project_id") != answer.get("target_project_id")
        source = answer["source_branch"]
        return OpenRequest(
            int(answer["iid"]),
            str(answer["web_url"]),
            f"{answer['source_project_id']}:{source}" if fork else str(source),
            str(answer["target_branch"]),
            str(answer.get("description") or ""),
        )

    @property
    def _requests(self) -> str:
        return f"/projects/{quote(self.forge.project, safe='')}/merge_requests"


def dialect_of(forge: Forge) -> Dialect:
    """The dialect of a forge."""
    match forge.kind:
        case ForgeKind.GITHUB:
            return GitHub(forge)
        case ForgeKind.GITLAB:
            return GitLab(forge)
        case ForgeKind.GITEA:
            return Gitea(forge)
