"""A TCP proxy on loopback before one server, whose link a test may cut, silence, swallow or slow.

Silent (`black_hole`): held back, and delivered later. Swallowed (`swallow`): acknowledged, and lost
for good, as by a firewall that has forgotten a connection; only a new connection can work again.
"""

import asyncio
import socket
import struct
from dataclasses import dataclass
from enum import Flag, auto
from typing import Final

from tests.services.relay import Connection, Relay

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
class Link(Connection):
    """One connection through the proxy: the two sockets of it, and what of it is swallowed."""

    swallowed: Direction = NEITHER

    def drop(self) -> None:
        """Reset it on both sides; what is on its way is lost."""
        for writer in self.writers:
            if not writer.is_closing():
                writer.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, RESET
                )
            writer.transport.abort()


class Proxy(Relay[Link]):
    """Hands every connection on to a server on loopback, while this context is open.

    `port` is where to connect instead. Its methods may be called from any thread; each has taken
    effect when it returns.
    """

    def __init__(self, target: int) -> None:
        super().__init__()
        self._target = target
        self._passes = asyncio.Event()
        self._passes.set()
        self._delay = 0.0
        self._swallows_new = NEITHER
        self._answer: bytes | None = None
        self._answers_dropped = 0

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

    async def _set(self, *, delay: float, passes: bool) -> None:
        self._delay = delay
        self._swallows_new = NEITHER
        if passes:
            self._passes.set()
        else:
            self._passes.clear()

    async def _swallow(self, directions: Direction, *, new: bool) -> int:
        self._swallows_new = directions if new else NEITHER
        for link in self._connections.values():
            link.swallowed |= directions
        return len(self._connections)

    async def _count_swallowed(self) -> int:
        return sum(bool(link.swallowed) for link in self._connections.values())

    async def _cut(self) -> int:
        links = [link for link in self._connections.values() if link.writers]
        for link in links:
            link.drop()
        return len(links)

    async def _expect(self, answer: bytes | None) -> None:
        self._answer = answer

    def connection(self, writer: asyncio.StreamWriter) -> Link:
        """It is swallowed if new ones are."""
        return Link([writer], self._swallows_new)

    async def serve(self, reader: asyncio.StreamReader, connection: Link) -> None:
        """Hand everything on in both directions until one side has gone."""
        await self._passes.wait()
        if connection.swallowed is Direction.BOTH:
            while await reader.read(CHUNK):
                pass
            return
        (writer,) = connection.writers
        there, beyond = await connection.open(self._target)
        await asyncio.gather(
            self._pump(reader, beyond, connection, Direction.TO_SERVER),
            self._pump(there, writer, connection, Direction.TO_CLIENT),
        )

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
