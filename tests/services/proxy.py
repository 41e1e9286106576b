"""A TCP proxy on loopback before one server, whose link a test may cut, silence, swallow or slow.

Silent (`black_hole`): held back, and delivered later. Swallowed (`swallow`): acknowledged, and lost
for good, as by a firewall that has forgotten a connection; only a new connection can work again.
"""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Coroutine
from dataclasses import dataclass, field
from enum import Flag, auto
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from orchestrator.embedded import port as ports

T = TypeVar("T")

CHUNK: Final = 65_536

RESET: Final = struct.pack("ii", 1, 0)
"""A socket that lingers for no time is reset when it is closed."""

COMMITTED: Final = b"C\x00\x00\x00\x0bCOMMIT\x00"
"""Postgres's answer to a COMMIT: the message CommandComplete with its tag."""


class Direction(Flag):
    """The directions of a connection."""

    TO_SERVER = auto()
    TO_CLIENT = auto()
    BOTH = TO_SERVER | TO_CLIENT


NEITHER: Final = Direction(0)


@dataclass(eq=False, slots=True)
class Link:
    """One connection through the proxy: the two sockets of it, and what of it is swallowed."""

    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    swallowed: Direction = NEITHER

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
        self._swallows_new = NEITHER
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

    @property
    def swallowed_links(self) -> int:
        """How many open connections are swallowed, in one direction or in both."""
        return self._in_loop(self._count_swallowed())

    def pass_on(self) -> None:
        """Be transparent again: what was held back arrives, late but whole.

        New connections work again; those that were swallowed stay so until they are closed.
        """
        self._in_loop(self._set(delay=0.0, passes=True))

    def black_hole(self) -> None:
        """Take everything and hand nothing on, as a link does that has gone silent."""
        self._in_loop(self._set(delay=0.0, passes=False))

    def swallow(self, directions: Direction = Direction.BOTH, *, new: bool = True) -> int:
        """Acknowledge and lose what comes in these directions; how many connections that concerns.

        Nobody is told: no reset, no end, and neither side learns that the other has closed. It is
        for good for the connections that there are, and, with `new`, for those made until
        `pass_on`.
        """
        return self._in_loop(self._swallow(directions, new=new))

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
        self._swallows_new = NEITHER
        if passes:
            self._passes.set()
        else:
            self._passes.clear()

    async def _swallow(self, directions: Direction, *, new: bool) -> int:
        self._swallows_new = directions if new else NEITHER
        for link in self._links:
            link.swallowed |= directions
        return len(self._links)

    async def _count_swallowed(self) -> int:
        return sum(bool(link.swallowed) for link in self._links)

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
        link = Link([writer], self._swallows_new)
        self._links.add(link)
        try:
            await self._passes.wait()
            if link.swallowed is Direction.BOTH:
                while await reader.read(CHUNK):
                    pass
                return
            there, beyond = await asyncio.open_connection(ports.LOOPBACK, self._target)
            link.writers.append(beyond)
            await asyncio.gather(
                self._pump(reader, beyond, link, Direction.TO_SERVER),
                self._pump(there, writer, link, Direction.TO_CLIENT),
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
        direction: Direction,
    ) -> None:
        try:
            while data := await reader.read(CHUNK):
                await self._passes.wait()
                if self._delay:
                    await asyncio.sleep(self._delay)
                if direction in link.swallowed:
                    continue
                if direction is Direction.TO_CLIENT and self._drops(link, data):
                    return
                writer.write(data)
                await writer.drain()
            if direction not in link.swallowed:
                writer.write_eof()
        except OSError:
            if direction not in link.swallowed:
                link.drop()

    def _drops(self, link: Link, data: bytes) -> bool:
        """Whether this is the answer to swallow; then the connection is reset."""
        if self._answer is None or self._answer not in data:
            return False
        self._answer = None
        self._answers_dropped += 1
        link.drop()
        return True
