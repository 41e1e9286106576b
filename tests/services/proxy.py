"""A TCP proxy on loopback before one server, whose link a test may cut, silence or slow down."""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from orchestrator.embedded import port as ports

T = TypeVar("T")

CHUNK: Final = 65_536

RESET: Final = struct.pack("ii", 1, 0)
"""A socket that lingers for no time is reset when it is closed."""

COMMITTED: Final = b"C\x00\x00\x00\x0bCOMMIT\x00"
"""Postgres's answer to a COMMIT: the message CommandComplete with its tag."""


@dataclass(eq=False, slots=True)
class Link:
    """One connection through the proxy: the two sockets of it."""

    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    def drop(self) -> None:
        """Reset it on both sides; what is on its way is lost."""
        for writer in self.writers:
            if not writer.is_closing():
                writer.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, RESET
                )
            writer.transport.abort()


class Proxy:
    """Hands every connection on to a server on loopback, while this context is open.

    `port` is where to connect instead. Its methods may be called from any thread; each has taken
    effect when it returns.
    """

    def __init__(self, target: int) -> None:
        self.port = ports.any_free()
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._links: set[Link] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self._passes = asyncio.Event()
        self._delay = 0.0
        self._answer: bytes | None = None
        self._answers_dropped = 0
        self._server: asyncio.Server | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        self._in_loop(self._listen())
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._in_loop(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def answers_dropped(self) -> int:
        """How often `drop_next_answer` has come true."""
        return self._answers_dropped

    def pass_on(self) -> None:
        """Be transparent again: what was held back arrives, late but whole."""
        self._in_loop(self._set(delay=0.0, passes=True))

    def black_hole(self) -> None:
        """Take everything and hand nothing on, as a link does that has gone silent."""
        self._in_loop(self._set(delay=0.0, passes=False))

    def slow(self, delay: float) -> None:
        """Hand everything on `delay` seconds late."""
        self._in_loop(self._set(delay=delay, passes=True))

    def cut(self) -> int:
        """Reset every connection; how many there were. New ones are let through."""
        return self._in_loop(self._cut())

    def drop_next_answer(self, answer: bytes | None = COMMITTED) -> None:
        """Reset the connection on which the server next sends `answer`, and swallow it.

        The server has done what it answers for, and the client cannot know. None calls it off.
        """
        self._in_loop(self._expect(answer))

    def _in_loop(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=10)

    async def _listen(self) -> None:
        self._passes.set()
        self._server = await asyncio.start_server(self._accept, ports.LOOPBACK, self.port)

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
        for link in self._links:
            link.drop()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _set(self, *, delay: float, passes: bool) -> None:
        self._delay = delay
        if passes:
            self._passes.set()
        else:
            self._passes.clear()

    async def _cut(self) -> int:
        links = [link for link in self._links if link.writers]
        for link in links:
            link.drop()
        return len(links)

    async def _expect(self, answer: bytes | None) -> None:
        self._answer = answer

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = self._loop.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = Link([writer])
        self._links.add(link)
        try:
            await self._passes.wait()
            there, beyond = await asyncio.open_connection(ports.LOOPBACK, self._target)
            link.writers.append(beyond)
            await asyncio.gather(
                self._pump(reader, beyond, link, self._unchanged),
                self._pump(there, writer, link, self._without_answer),
            )
        except OSError:
            pass
        finally:
            self._links.discard(link)
            link.drop()
            for each in link.writers:
                with contextlib.suppress(OSError):
                    await each.wait_closed()

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        link: Link,
        watched: Callable[[Link, bytes], bool],
    ) -> None:
        try:
            while data := await reader.read(CHUNK):
                await self._passes.wait()
                if self._delay:
                    await asyncio.sleep(self._delay)
                if not watched(link, data):
                    return
                writer.write(data)
                await writer.drain()
            writer.write_eof()
        except OSError:
            link.drop()

    @staticmethod
    def _unchanged(_link: Link, _data: bytes) -> bool:
        return True

    def _without_answer(self, link: Link, data: bytes) -> bool:
        if self._answer is None or self._answer not in data:
            return True
        self._answer = None
        self._answers_dropped += 1
        link.drop()
        return False
