"""A stand-in for a connection pooler: it tells each client another process id than the server's."""

import socket
import struct
import threading
from types import TracebackType
from typing import Final, Self

_KEY_DATA: Final = b"K\x00\x00\x00\x0c"
"""The begin of the message BackendKeyData: a process id and a secret key follow."""

_PID: Final = struct.pack(">i", 7)


class Pooler:
    """Hands connections on to a server on loopback, as PgBouncer does: under an id of its own."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, name="pooler", daemon=True).start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        for each in (self._listener, *self._open):
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            self._open += [client, server]
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=_pass_on, args=(source, sink), daemon=True).start()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65_536):
            before, found, after = data.partition(_KEY_DATA)
            sink.sendall(before + found + _PID + after[4:] if found else data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return
