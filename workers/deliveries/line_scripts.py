"""Runs the scripts of a line on its host, and brings back what they give, whole or not at all."""

import re
from base64 import b64encode
from itertools import accumulate
from typing import Final

from shared.domain.errors import Rejected, Transient
from shared.domain.next_step import NextStep
from shared.domain.target import Repository
from workers.agents.workspaces.refusals import failure, interrupted
from workers.agents.workspaces.script import Fields, Variables, parse, script, value, values
from workers.deliveries.line_words import blob_oid
from workers.deliveries.refusals import refusal_of
from workers.passes.ports import Cancelled
from workers.shells.ports import LONGEST, Call, Shell

_ROOM: Final = 900_000
"""Bytes that one call brings back; a shell keeps no more of a command's output."""

_PARTS = ("workers.deliveries:line", "workers.deliveries:merging")
_TIMEOUT = 300.0
_REFUSED = 3
_MASKED = re.compile("\u2039secret:([^\u203a]*)\u203a".encode())


class LineScripts:
    """The scripts of a line on one host; each may be run again after it was interrupted."""

    def __init__(
        self, shell: Shell, repository: Repository, root: str, cancelled: Cancelled | None
    ) -> None:
        self._shell = shell
        self._repository = repository
        self._root = root
        self._cancelled = cancelled

    def fields(self, call: tuple[str, ...], stage: str) -> Fields:
        """What a script tells that gives no files."""
        return parse(self._result(call, {}, stage))

    def files(
        self,
        call: tuple[str, ...],
        stage: str,
        variables: Variables | None = None,
        *,
        most: int | None = None,
    ) -> tuple[Fields, tuple[bytes, ...]]:
        """What a script tells, and the files that it gives, in as many calls as it takes.

        The host makes them once, and keeps them until the last page was brought.
        Raises Rejected if the last file has more than `most` bytes.
        """
        fields, page = self._page(call, variables or {}, stage)
        sizes = [int(size) for size in values(fields, "size")]
        if most is not None and sizes[-1] > most:
            raise self._too_long(sizes[-1], most, stage)
        total, oid = sum(sizes), value(fields, "given")
        body = bytearray()
        while True:
            if len(page) != min(_ROOM, total - len(body)):
                raise self._changed_on_its_way(page, stage)
            body += page
            if len(body) == total:
                break
            _, page = self._page(("page", oid, str(len(body))), {}, stage)
        ends = accumulate(sizes)
        files = (bytes(body[end - size : end]) for end, size in zip(ends, sizes, strict=True))
        return fields, tuple(files)

    def _page(
        self, call: tuple[str, ...], variables: Variables, stage: str
    ) -> tuple[Fields, bytes]:
        """What a script tells, and the page that it gives."""
        printed = self._result(call, {"room": _ROOM, **variables}, stage)
        head, _, page = printed.partition(b"\0\0")
        return parse(head + b"\0"), page

    def send(self, oid: str, content: bytes) -> int:
        """Send the content of that id in parts; returns how many."""
        text = self._text(("take_part", oid, "99999999"), {"part": ""})
        size = (LONGEST - len(text.encode())) // 4 * 3
        parts = [content[at : at + size] for at in range(0, len(content), size)]
        for number, part in enumerate(parts):
            call = ("take_part", f"{oid}.{len(parts)}", str(number))
            self._result(call, {"part": b64encode(part).decode()}, "accept")
        return len(parts)

    def require_whole(self, content: bytes, oid: str) -> bytes:
        """The content, if it has that id on the host; Rejected or Transient if it has not."""
        if blob_oid(content, oid) != oid:
            raise self._changed_on_its_way(content, "publish")
        return content

    def _result(self, call: tuple[str, ...], variables: Variables, stage: str) -> bytes:
        """What a script that did what it was asked has printed; everything else is raised."""
        asked = Call(self._text(call, variables), _TIMEOUT, parsed=True)
        result = self._shell.run(asked, cancelled=self._cancelled)
        if result.exit_code == 0:
            return result.stdout
        if result.exit_code == _REFUSED:
            raise refusal_of(self._repository, parse(result.stdout), stage)
        if result.timed_out:
            told = f"{call[0]} took longer than {_TIMEOUT:.0f} seconds"
            raise interrupted(self._repository, told)
        if result.exit_code is None:
            raise interrupted(self._repository, f"{call[0]} was ended before it was done")
        what = f"{call[0]} ended with exit code {result.exit_code}"
        raise failure(self._repository, what, result.stderr.decode(errors="replace"))

    def _text(self, call: tuple[str, ...], variables: Variables) -> str:
        return script(_PARTS, self._repository, self._root, call, variables)

    def _changed_on_its_way(self, found: bytes, stage: str) -> Rejected | Transient:
        """The error for output that is not what the script has printed: the shell masks secrets."""
        masked = _MASKED.search(found)
        name = self._repository.name
        if masked is None:
            return Transient(
                f"the repository {name}: what git printed did not arrive as it was",
                stage=stage,
                next_step=NextStep.of("host check", self._repository.host),
            )
        secret = masked[1].decode(errors="replace")
        return Rejected(
            f"the repository {name}: the files hold the value of the secret {secret}", stage=stage
        )

    def _too_long(self, size: int, limit: int, stage: str) -> Rejected:
        return Rejected(
            f"the repository {self._repository.name}: the patch has {size} bytes, and no more "
            f"than {limit} are allowed",
            stage=stage,
        )
