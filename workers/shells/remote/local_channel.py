"""The connection to a runner on this machine: a socket."""

import contextlib
import os
import socket
from pathlib import Path

from workers.shells.remote.channels import LostError
from workers.shells.remote.environment import local_environment

_CHUNK = 65_536
_ERRORS = 2

_CHILDREN: set[int] = set()
"""Released runners that may still run a command; this process has to reap them."""


class LocalCarrier:
    """A runner on this machine, in its own session, which outlives this process.

    Raises OSError when the machine cannot start another process.
    """

    def __init__(self) -> None:
        self.noise = b""
        self._socket, theirs = socket.socketpair()
        with theirs:
            try:
                self._pid = _spawn(theirs.fileno())
            except BaseException:
                self._socket.close()
                raise
        self.send(b"cd || cd /\n")

    def send(self, data: bytes) -> None:
        """Send the bytes."""
        try:
            self._socket.settimeout(None)
            self._socket.sendall(data)
        except OSError as error:
            raise LostError(str(error)) from error

    def receive(self, seconds: float) -> bytes:
        """The bytes that have arrived; empty after that many seconds without any."""
        try:
            self._socket.settimeout(max(seconds, 0.001))
            data = self._socket.recv(_CHUNK)
        except TimeoutError:
            return b""
        except OSError as error:
            raise LostError(str(error)) from error
        if not data:
            raise LostError("the runner has ended")
        return data

    def moves(self) -> bool:
        """Nothing lies between."""
        return True

    def beside(self) -> "LocalCarrier":
        """Another runner."""
        return LocalCarrier()

    def close(self) -> None:
        """Close it; the runner finishes its current command, and ends."""
        self._socket.close()
        _CHILDREN.add(self._pid)
        for pid in list(_CHILDREN):
            if _reap(pid):
                _CHILDREN.discard(pid)


def _spawn(end: int) -> int:
    return os.posix_spawn(
        "/bin/sh",
        ["/bin/sh"],
        local_environment(),
        file_actions=[
            (os.POSIX_SPAWN_DUP2, end, 0),
            (os.POSIX_SPAWN_DUP2, end, 1),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            *((os.POSIX_SPAWN_CLOSE, number) for number in _handed_down()),
        ],
        setsid=True,
        setsigmask=(),
        setsigdef=range(1, 32),
    )


def _handed_down() -> list[int]:
    """The file descriptors that this process inherited, besides its three streams."""
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        number = int(entry.name)
        with contextlib.suppress(OSError):
            if number > _ERRORS and os.get_inheritable(number):
                found.append(number)
    return found


def _reap(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
