"""A forge on loopback that speaks as GitHub, GitLab or Gitea does, and fails as it is told."""

import json
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

from shared.domain.target import Forge, ForgeKind

PROJECT = "owner/app"
TOKEN = "t0ken-of-the-forge"


@dataclass(frozen=True)
class Fault:
    """What the next request of that method meets; without a status, no answer comes.

    `done` says whether the forge does what it is asked all the same.
    """

    method: str
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: str = '{"message": "no"}'
    done: bool = False


@dataclass
class Asked:
    """A request that was open for some time."""

    number: int
    source: str
    into: str
    title: str
    text: str
    owner: str = PROJECT


@dataclass
class ScriptedForge:
    """What is open there, what it was asked, and what goes wrong next."""

    kind: ForgeKind
    api: str = ""
    open: list[Asked] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    faults: deque[Fault] = field(default_factory=deque)

    @classmethod
    @contextmanager
    def serving(cls, kind: ForgeKind) -> Iterator[Self]:
        """A forge that answers until the block ends."""
        forge = cls(kind)
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(forge))
        forge.api = f"http://127.0.0.1:{server.server_port}/base"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield forge
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def entry(self, **changes: str) -> Forge:
        """The forge as a repository names it."""
        values = {"api": self.api, "project": PROJECT, "into": "main", "token": "FORGE_TOKEN"}
        return Forge(kind=self.kind, **(values | changes))

    def fail(self, method: str, status: int | None = None, **more: Any) -> None:
        """Have the next request of that method fail."""
        self.faults.append(Fault(method, status, **more))

    def add(self, source: str, into: str = "main", text: str = "", owner: str = PROJECT) -> Asked:
        """A request that somebody else has opened."""
        made = Asked(len(self.open) + 1, source, into, "by hand", text, owner)
        self.open.append(made)
        return made

    def shown(self, each: Asked) -> dict[str, Any]:
        """A request as such a forge shows it."""
        url = f"https://forge.example/{PROJECT}/{each.number}"
        if self.kind is ForgeKind.GITLAB:
            return {
                "id": 1000 + each.number,
                "iid": each.number,
                "web_url": url,
                "source_branch": each.source,
                "target_branch": each.into,
                "source_project_id": 7 if each.owner == PROJECT else 8,
                "target_project_id": 7,
                "title": each.title,
                "description": each.text or None,
            }
        return {
            "id": 1000 + each.number,
            "number": each.number,
            "html_url": url,
            "head": {"ref": each.source, "repo": {"full_name": each.owner}},
            "base": {"ref": each.into, "repo": {"full_name": PROJECT}},
            "title": each.title,
            "body": each.text or None,
        }

    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
        """The status and the content of an answer."""
        gitlab = self.kind is ForgeKind.GITLAB
        whole = (
            f"/base/projects/{PROJECT}/merge_requests" if gitlab else f"/base/repos/{PROJECT}/pulls"
        )
        number = path.removeprefix(whole).strip("/")
        if not path.startswith(whole) or (number and not number.isdigit()):
            return 404, {"message": "404 Project Not Found" if gitlab else "Not Found"}
        if method == "GET":
            return 200, [self.shown(each) for each in self._page(query)]
        text = (body.get("description") if gitlab else body.get("body")) or ""
        if method == "POST":
            return self._post(body, text)
        assert method == ("PUT" if gitlab else "PATCH")
        (found,) = (each for each in self.open if each.number == int(number))
        found.text = text
        return 200, self.shown(found)

    def _page(self, query: dict[str, str]) -> list[Asked]:
        assert query["state"] == ("opened" if self.kind is ForgeKind.GITLAB else "open")
        found = self.open
        if self.kind is ForgeKind.GITHUB:
            owner, _, branch = query["head"].partition(":")
            found = [
                each
                for each in found
                if (each.owner.partition("/")[0], each.source) == (owner, branch)
                and each.into == query["base"]
            ]
        elif self.kind is ForgeKind.GITLAB:
            wanted = (query["source_branch"], query["target_branch"])
            found = [each for each in found if (each.source, each.into) == wanted]
        size = int(query["limit" if self.kind is ForgeKind.GITEA else "per_page"])
        begin = (int(query["page"]) - 1) * size
        return found[begin : begin + size]

    def _post(self, body: Any, text: str) -> tuple[int, Any]:
        gitlab = self.kind is ForgeKind.GITLAB
        names = ("source_branch", "target_branch") if gitlab else ("head", "base")
        source, into = (body[name] for name in names)
        if any(
            (each.owner, each.source, each.into) == (PROJECT, source, into) for each in self.open
        ):
            return self._taken(source)
        made = Asked(len(self.open) + 1, source, into, body["title"], text)
        self.open.append(made)
        return 201, self.shown(made)

    def _taken(self, source: str) -> tuple[int, Any]:
        if self.kind is ForgeKind.GITHUB:
            told = f"A pull request already exists for owner:{source}."
            return 422, {"message": "Validation Failed", "errors": [{"message": told}]}
        told = f"Another open merge request already exists for this source branch: {source}"
        return 409, {"message": [told] if self.kind is ForgeKind.GITLAB else told}

    def knows(self, headers: dict[str, str]) -> bool:
        """Whether somebody it knows asks."""
        word = "token" if self.kind is ForgeKind.GITEA else "Bearer"
        return headers.get("authorization") == f"{word} {TOKEN}"


def _handler(forge: ScriptedForge) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers for the forge."""

        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Print nothing."""

        def _serve(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            size = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            forge.asked.append(self.command)
            fault = next((each for each in forge.faults if each.method == self.command), None)
            if fault is not None:
                forge.faults.remove(fault)
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, content = 401, {"message": "Bad credentials"}
            if forge.knows(headers) and (fault is None or fault.done):
                status, content = forge.answer(self.command, unquote(parts.path), query, body)
            if fault is None:
                self._send(status, json.dumps(content), {})
            elif fault.status is None:
                self.close_connection = True
            else:
                self._send(fault.status, fault.body, fault.headers)

        def _send(self, status: int, text: str, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {**headers, "content-length": str(len(text.encode()))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text.encode())

        do_GET = do_POST = do_PATCH = do_PUT = _serve  # noqa: N815

    return Handler
