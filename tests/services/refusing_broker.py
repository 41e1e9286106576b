"""A relay before a real broker that answers chosen commands with an error reply of its own."""

import asyncio
import contextlib
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from urllib.parse import urlsplit

from orchestrator.embedded import port as ports

T = TypeVar("T")

EVERY: Final = "*"
"""Stands for every command."""

_SUBSCRIBING: Final = {"SUBSCRIBE", "PSUBSCRIBE"}
_COLLECTIONS: Final = b"*%~>"


@dataclass(eq=False, slots=True)
class _Link:
    """A connection of a client and the one behind it; `pushes` once it has subscribed."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    group: asyncio.TaskGroup
    pushes: bool = False


@dataclass
class RefusingBroker:
    """Hands commands on to the server of an address on loopback, except those that it refuses.

    `refused` maps the name of a command (or `EVERY`) to the whole error reply without its `-`.
    """

    server_url: str
    port: int = field(default_factory=ports.any_free)
    refused: dict[str, str] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._serving: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._counted = 0

    def __enter__(self) -> Self:
        self._thread.start()
        self._call(self._listen())
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def url(self) -> str:
        """The address to use in place of the server's."""
        return urlsplit(self.server_url)._replace(netloc=self._netloc()).geturl()

    @property
    def refusals(self) -> int:
        """How many commands it has refused so far."""
        return self._counted

    def refuse(self, reply: str, *commands: str) -> None:
        """Answer these commands with that error from now on, on old connections and new ones."""
        self._call(self._set(dict.fromkeys(commands, reply)))

    def accept(self) -> None:
        """Refuse nothing."""
        self._call(self._set({}))

    def point_to(self, server_url: str) -> None:
        """Lead new connections to another server; old ones stay where they are."""
        self.server_url = server_url

    def _netloc(self) -> str:
        account = urlsplit(self.server_url).netloc.rpartition("@")[0]
        return f"{account}{'@' if account else ''}{ports.LOOPBACK}:{self.port}"

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return future.result(timeout=10)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._accept, ports.LOOPBACK, self.port)

    async def _set(self, refused: dict[str, str]) -> None:
        self.refused = refused

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = self._loop.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = urlsplit(self.server_url).port
        writers = [writer]
        try:
            there, beyond = await asyncio.open_connection(ports.LOOPBACK, target)
            writers.append(beyond)
            async with asyncio.TaskGroup() as group:
                link = _Link(writer, beyond, group)
                while True:
                    await self._command(reader, there, link)
        except (OSError, asyncio.IncompleteReadError, ExceptionGroup):
            pass  # either side has gone
        finally:
            for each in writers:
                each.transport.abort()
                with contextlib.suppress(OSError):
                    await each.wait_closed()

    async def _command(
        self, reader: asyncio.StreamReader, there: asyncio.StreamReader, link: _Link
    ) -> None:
        raw = await _value(reader)
        name = raw.split(b"\r\n", 3)[2].decode().upper()
        self.seen.add(name)
        refusal = self.refused.get(name, self.refused.get(EVERY))
        if refusal is not None:
            self._counted += 1
            link.client.write(f"-{refusal}\r\n".encode())
            await link.client.drain()
            return
        link.server.write(raw)
        await link.server.drain()
        if name in _SUBSCRIBING and not link.pushes:
            link.pushes = True
            link.group.create_task(_copy(there, link.client))
        if link.pushes:
            return
        link.client.write(await _value(there))
        await link.client.drain()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    raise EOFError


async def _value(reader: asyncio.StreamReader) -> bytes:
    """One value of the protocol (RESP), with all that it holds."""
    line = await reader.readuntil(b"\r\n")
    kind, rest = line[:1], line[1:-2]
    if kind in (b"$", b"=", b"!") and rest != b"-1":
        return line + await reader.readexactly(int(rest) + 2)
    if kind not in [bytes([each]) for each in _COLLECTIONS] or rest == b"-1":
        return line
    held = int(rest) * (2 if kind == b"%" else 1)
    for _ in range(held):
        line += await _value(reader)
    if kind == b">":  # not a reply: the reply follows
        line += await _value(reader)
    return line
