"""Exchanges in files: written while they happen, and answered from again."""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, Final

from shared.domain.errors import Misconfigured, Rejected
from shared.domain.next_step import ShellCommand
from shared.secrets.masking import Masker
from workers.gateway.faults import Cut, FaultKind, Refusal
from workers.gateway.headers import passed_back
from workers.gateway.protocols.content import count_rounds
from workers.gateway.upstream import Answer, ModelRequest, Upstream

_REQUEST: Final = ".json"
_ANSWER: Final = ".answer"
_NO_ERROR: Final = 400


class RecordingUpstream:
    """See `Upstream`; writes what another one is asked and answers, with the keys hidden.

    Each exchange is two files: what was asked and how it was answered as JSON, and the bytes of the
    answer as they came. Raises Misconfigured if the folder cannot be written.
    """

    def __init__(self, upstream: Upstream, folder: Path, keys: Masker) -> None:
        self._upstream = upstream
        self._folder = folder
        self._keys = keys
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            taken = [int(path.stem) for path in folder.glob(f"*{_REQUEST}") if path.stem.isdigit()]
        except OSError as error:
            raise Misconfigured(
                f"the recording cannot be written to {folder}: {error.strerror}",
                stage="start",
                next_step=ShellCommand(f"ls -ld {folder}"),
            ) from error
        self._numbers = count(max(taken, default=0) + 1)

    @asynccontextmanager
    async def open(self, request: ModelRequest) -> AsyncIterator[Answer]:
        """See `Upstream`."""
        number = next(self._numbers)
        async with self._upstream.open(request) as answer:
            heard: list[bytes] = []
            cut = False

            async def chunks() -> AsyncIterator[bytes]:
                nonlocal cut
                cut = True
                async for chunk in answer.chunks:
                    heard.append(chunk)
                    yield chunk
                cut = False

            try:
                yield Answer(answer.status, answer.headers, chunks())
            finally:
                await asyncio.to_thread(self._write, number, request, answer, heard, cut=cut)

    async def close(self) -> None:
        """See `Upstream`."""
        await self._upstream.close()

    def _write(
        self, number: int, request: ModelRequest, answer: Answer, heard: list[bytes], *, cut: bool
    ) -> None:
        stream = self._keys.value_stream()
        said = stream.feed(b"".join(heard)) + stream.finish()
        told = {
            "protocol": request.route.protocol.name,
            "operation": request.route.operation.value,
            "path": request.route.path,
            "request": request.body,
            "status": answer.status,
            "headers": passed_back(answer.headers, self._keys.values),
            "cut": cut,
        }
        path = self._folder / f"{number:05d}"
        path.with_suffix(_ANSWER).write_bytes(said)
        path.with_suffix(_REQUEST).write_text(
            json.dumps(told, ensure_ascii=False, indent=1), encoding="utf-8", errors="replace"
        )


@dataclass(frozen=True, slots=True)
class _Recorded:
    status: int
    headers: Mapping[str, str]
    body: bytes
    cut: bool


class ReplayedUpstream:
    """See `Upstream`; answers from a recording, and has no memory of what it has answered.

    A request gets the answer of an equal one; where there is none, that of the first one in which
    the model had spoken as often: runners put dates, paths and ids into what they ask. Raises
    Rejected if the folder holds no recording.
    """

    def __init__(self, folder: Path) -> None:
        self._same: dict[str, _Recorded] = {}
        self._alike: dict[tuple[str, str, int], list[_Recorded]] = defaultdict(list)
        try:
            paths = sorted(folder.glob(f"*{_REQUEST}"))
            told = [(path, json.loads(path.read_text(encoding="utf-8"))) for path in paths]
            for path, each in told:
                self._learn(each, path.with_suffix(_ANSWER).read_bytes())
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise _no_recording(folder, f"it cannot be read: {error}") from error
        if not told:
            raise _no_recording(folder, "it is empty or missing")

    @asynccontextmanager
    async def open(self, request: ModelRequest) -> AsyncIterator[Answer]:
        """See `Upstream`; raises Refusal if nothing like it was recorded."""
        protocol = request.route.protocol
        where = (protocol.name, request.route.operation.value)
        found = self._same.get(_digest(*where, request.body))
        if found is None:
            rounds = count_rounds(protocol.turns(request.body))
            recorded = self._alike.get((*where, rounds), [])
            good = [each for each in recorded if each.status < _NO_ERROR and not each.cut]
            if not recorded:
                reason = f"nothing is recorded for round {rounds} of {protocol.name}"
                raise Refusal(FaultKind.NOT_FOUND, reason)
            found = (good or recorded)[0]
        yield Answer(found.status, found.headers, _chunks(found))

    async def close(self) -> None:
        """See `Upstream`."""

    def _learn(self, told: Any, body: bytes) -> None:
        from workers.gateway.routes import PROTOCOLS

        protocol = next(each for each in PROTOCOLS if each.name == told["protocol"])
        recorded = _Recorded(told["status"], told["headers"], body, told["cut"])
        where = (protocol.name, told["operation"])
        self._same.setdefault(_digest(*where, told["request"]), recorded)
        self._alike[(*where, count_rounds(protocol.turns(told["request"])))].append(recorded)


async def _chunks(recorded: _Recorded) -> AsyncIterator[bytes]:
    yield recorded.body
    if recorded.cut:
        raise Cut("the recorded answer broke off")


def _digest(protocol: str, operation: str, body: Any) -> str:
    text = json.dumps([protocol, operation, body], sort_keys=True)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _no_recording(folder: Path, why: str) -> Rejected:
    return Rejected(
        f"{folder} is not a recording of the gateway: {why}",
        stage="input",
        next_step=ShellCommand(f"ls {folder}"),
    )
