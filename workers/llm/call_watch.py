"""Ends a call to a model that nobody waits for any more, or that takes too long."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from enum import StrEnum
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2

_LOOK_EVERY = 0.2
"""Seconds between two looks at whether the answer is still wanted."""

_NEW_CONNECTION = ("connect_tcp.complete", "start_tls.complete")
"""The ends of the names of the HTTP library's events that come with a new connection."""


class Interruption(StrEnum):
    """Why a call was ended from our side."""

    WITHDRAWN = "withdrawn"
    TOO_LONG = "too_long"


class CallWatch:
    """Watches one call: `withdrawn` says whether to end it, `limit` is its longest time in seconds.

    To end it, the connection is shut down, which wakes whoever reads from it.
    """

    def __init__(self, withdrawn: Callable[[], bool], limit: float) -> None:
        self._withdrawn = withdrawn
        self._until = monotonic() + limit
        self._socket: socket.socket | None = None
        self._interruption: Interruption | None = None
        self._lock = threading.Lock()

    @property
    def interruption(self) -> Interruption | None:
        """Why the call was ended from our side; None if it was not."""
        return self._interruption

    def look(self) -> None:
        """End the call if it is time to."""
        if self._interruption is None:
            if self._withdrawn():
                self._interrupt(Interruption.WITHDRAWN)
            elif monotonic() >= self._until:
                self._interrupt(Interruption.TOO_LONG)

    def attach(self, connection: socket.socket) -> None:
        """Name the connection of the call; a later one replaces an earlier one."""
        with self._lock:
            self._socket = connection
            if self._interruption is not None:
                _shut_down(connection)

    def _interrupt(self, why: Interruption) -> None:
        with self._lock:
            self._interruption = why
            if self._socket is not None:
                _shut_down(self._socket)


_WATCH: ContextVar[CallWatch | None] = ContextVar("watch of the call that is made", default=None)


@contextmanager
def watching(withdrawn: Callable[[], bool], limit: float) -> Iterator[CallWatch]:
    """Watch the call that this thread makes within the block through `interruptible` clients."""
    watch = CallWatch(withdrawn, limit)
    over = threading.Event()

    def run() -> None:
        while not over.wait(_LOOK_EVERY):
            watch.look()

    watcher = threading.Thread(target=run, name="call-watch", daemon=True)
    token = _WATCH.set(watch)
    watcher.start()
    try:
        yield watch
    finally:
        over.set()
        watcher.join()
        _WATCH.reset(token)


def interruptible(make: Callable[..., "httpx2.Client"]) -> "httpx2.Client":
    """An HTTP client, made by an SDK's own `make`, whose requests can be interrupted.

    Each call has a connection of its own: so it is known from the start, and no call fails because
    an idle connection was closed.
    """
    import httpx2

    limits = httpx2.Limits(max_connections=1000, max_keepalive_connections=0)
    return make(limits=limits, event_hooks={"request": [_follow]})


def _follow(request: "httpx2.Request") -> None:
    watch = _WATCH.get()
    if watch is None:
        return

    def note(event: str, info: dict[str, Any]) -> None:
        if event.endswith(_NEW_CONNECTION):
            connection = info["return_value"].get_extra_info("socket")
            if isinstance(connection, socket.socket):
                watch.attach(connection)

    request.extensions = {**request.extensions, "trace": note}


def _shut_down(connection: socket.socket) -> None:
    """`close` would not wake a thread that reads; the plain method leaves TLS to that thread."""
    with suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
