"""What listens on loopback in a thread of its own, and leaves no connection behind."""

import asyncio
import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar

from orchestrator.embedded import port as ports

T = TypeVar("T")

PATIENCE: Final = 10.0
"""Seconds that the loop may take for one call."""


@dataclass(eq=False, slots=True)
class Connection:
    """A client's connection, first in `writers`, and those that were opened for it."""

    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def open(self, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """One more connection, to a port of loopback. Raises OSError if nobody listens there."""
        reader, writer = await asyncio.open_connection(ports.LOOPBACK, port)
        self.writers.append(writer)
        return reader, writer

    def drop(self) -> None:
        """Close all of it at once; what is on its way is lost."""
        for writer in self.writers:
            writer.transport.abort()


C = TypeVar("C", bound=Connection)


class Relay(ABC, Generic[C]):
    """Listens on `port` while this context is open, and has closed every connection after it.

    That holds whatever a connection's task was doing: nothing is left to the garbage collector,
    which would report it in the middle of another test.
    """

    def __init__(self) -> None:
        self.port = ports.any_free()
        self._connections: dict[asyncio.Task[None], C] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="relay", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = self._in_loop(asyncio.start_server(self._accept, ports.LOOPBACK, self.port))
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

    @abstractmethod
    def connection(self, writer: asyncio.StreamWriter) -> C:
        """A client has come."""

    @abstractmethod
    async def serve(self, reader: asyncio.StreamReader, connection: C) -> None:
        """Carry a connection to its end; it is dropped afterwards. OSError is one of the ends."""

    def _in_loop(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=PATIENCE)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = self.connection(writer)
        task = self._loop.create_task(self._carry(reader, connection))
        self._connections[task] = connection
        # Not in a `finally`: a task that is cancelled before it begins has none.
        task.add_done_callback(self._end)

    async def _carry(self, reader: asyncio.StreamReader, connection: C) -> None:
        with contextlib.suppress(OSError):
            await self.serve(reader, connection)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._connections.pop(task).drop()

    async def _close(self) -> None:
        # `Server.close` and a cancelled task of the loop's own both lose the socket of a client who
        # is being accepted: nobody is accepted any more, and those who were come through first.
        for listener in self._server.sockets:
            self._loop.remove_reader(listener.fileno())
        while asyncio.all_tasks() - {asyncio.current_task()}:
            for task in self._connections:
                task.cancel()
            await asyncio.sleep(0)
        self._server.close()
        # An aborted transport closes its socket in the next round of the loop.
        await asyncio.sleep(0)
