"""Runs the gateway: uvicorn serves it until the process is asked to stop."""

import asyncio
import ipaddress
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Queue
from typing import Final, Protocol

from shared.domain.errors import Misconfigured
from shared.domain.next_step import ShellCommand
from workers.gateway.app import Gateway

LOOPBACK: Final = "127.0.0.1"
_STOPS: Final = (signal.SIGTERM, signal.SIGINT)

_BEAT: Final = 5
"""Seconds between two signs of life."""

_CUTS_IN: Final = "run_asgi"
"""Where uvicorn complains, without an exception, of an answer that breaks off."""


@dataclass(frozen=True, slots=True)
class Listening:
    """Where the gateway listens."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The address that runners get; those of OpenAI get `/v1` behind it."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach that host."""
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def serve(
    gateway: Gateway,
    where: Listening,
    on_ready: Callable[[Listening], None],
    *,
    grace: float,
    beat: Callable[[], None],
) -> None:
    """Serve until SIGTERM or SIGINT; raises Misconfigured if the port cannot be had.

    Answers in progress then have `grace` seconds to end. `beat` is called every few seconds.
    """
    _make_server(gateway, where, on_ready, grace=grace, beat=beat).run_until_stopped()


@contextmanager
def serving(gateway: Gateway, where: Listening | None = None) -> Iterator[Listening]:
    """Serve in a thread within the block, by default on any free port of this machine."""
    found: Queue[Listening | BaseException] = Queue()
    server = _make_server(gateway, where or Listening(LOOPBACK, 0), found.put, grace=1)

    def run() -> None:
        try:
            server.run_until_stopped()
        except BaseException as error:  # noqa: BLE001 - the other thread raises it
            found.put(error)

    thread = threading.Thread(target=run, name="gateway", daemon=True)
    thread.start()
    place = found.get()
    if isinstance(place, BaseException):
        raise place
    try:
        yield place
    finally:
        server.stop()
        thread.join()


class _Server(Protocol):
    def run_until_stopped(self) -> None: ...

    def stop(self) -> None: ...


def _make_server(
    gateway: Gateway,
    where: Listening,
    on_ready: Callable[[Listening], None],
    *,
    grace: float,
    beat: Callable[[], None] = lambda: None,
) -> _Server:
    import uvicorn

    class Server(uvicorn.Server):
        """Tells when it listens, and where."""

        def run_until_stopped(self) -> None:
            asyncio.run(self.serve(sockets=[_bind(where)]))

        def stop(self) -> None:
            self.should_exit = True

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            """As uvicorn does; but a process that was asked to stop, and has, ended well."""
            if threading.current_thread() is not threading.main_thread():
                yield
                return
            before = {each: signal.signal(each, self.handle_exit) for each in _STOPS}
            try:
                yield
            finally:
                for each, handler in before.items():
                    signal.signal(each, handler)

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if sockets and self.started:
                host, port = sockets[0].getsockname()[:2]
                beat()
                on_ready(Listening(host, port))

    async def notify() -> None:
        beat()

    logging.getLogger("uvicorn.error").addFilter(_is_no_cut)
    return Server(
        uvicorn.Config(
            gateway.application(),
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            ws="none",
            timeout_graceful_shutdown=round(grace),
            timeout_keep_alive=75,
            callback_notify=notify,
            timeout_notify=_BEAT,
        )
    )


def _bind(where: Listening) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(
            where.host, where.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # asyncio lets small pieces go at once only where the protocol is named
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except (OSError, OverflowError) as error:
        raise Misconfigured(
            f"the gateway cannot listen on {where.host}:{where.port}: {error}",
            stage="start",
            next_step=ShellCommand(f"ss -ltnp 'sport = :{where.port}'"),
        ) from error
    return bound


def _is_no_cut(record: logging.LogRecord) -> bool:
    return record.funcName != _CUTS_IN or record.exc_info is not None
