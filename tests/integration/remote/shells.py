"""Runners under every shell that hosts have, started as an SSH server would."""

import os
import shutil
import socket
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from shared.domain.host import LOCALHOST
from tests.services.shells import shell_for_tests
from workers.shells.remote.channels import LostError
from workers.shells.remote.environment import local_environment
from workers.shells.remote.runner_text import EXEC_LINE
from workers.shells.remote.runners import RunnerPool

LOGIN_SHELLS = ("bash", "dash", "busybox", "ksh", "zsh", "fish", "tcsh")
READ_BY = ("dash", "bash", "busybox")
"""What /bin/sh is on the hosts that we know."""


@dataclass(frozen=True)
class Machine:
    """A machine as far as a runner sees it: its sh, its tools, a home."""

    sh: Path
    path: str
    home: Path
    login: tuple[str, ...]

    @property
    def root(self) -> Path:
        """Where its records lie."""
        return self.home / ".replan/jobs"


def machine(folder: Path, sh: str, login: str | None = None) -> Machine:
    """A machine whose sh is the one named, with a home below the folder.

    With busybox every tool is busybox's own, as on a small distribution.
    """
    tools, home = folder / "tools", folder / "home"
    tools.mkdir()
    home.mkdir()
    found = shell_for_tests(sh)
    if sh == "busybox":
        # A copy: contained looks do not see what lies in the home of another account.
        own = Path(shutil.copy(found, folder / "busybox"))
        for applet in subprocess.run(
            [found, "--list"], capture_output=True, text=True, check=True
        ).stdout.split():
            (tools / applet).symlink_to(own)
    else:
        (tools / "sh").symlink_to(found)
    path = str(tools) if sh == "busybox" else f"{tools}:{os.environ['PATH']}"
    if login is None:
        return Machine(tools / "sh", path, home, (str(tools / "sh"),))
    words = (str(shell_for_tests(login)), *(["sh"] if login == "busybox" else []))
    return Machine(tools / "sh", path, home, words)


class ShellCarrier:
    """A runner on a machine. What its text calls /bin/sh is the machine's sh."""

    def __init__(self, on: Machine, made: "list[ShellCarrier]") -> None:
        self.noise = b""
        self.sent = 0
        self.received = 0
        self._machine, self._made = on, made
        self._socket, theirs = socket.socketpair()
        line = EXEC_LINE.replace("/bin/sh", str(on.sh))
        with theirs:
            self.process = subprocess.Popen(
                [*on.login, "-c", line],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=subprocess.DEVNULL,
                cwd=on.home,
                env={**local_environment(), "HOME": str(on.home), "PATH": on.path}
                if on.login == (str(on.sh),)
                else {**os.environ, "HOME": str(on.home), "PATH": os.environ["PATH"]},
                start_new_session=True,
            )
        made.append(self)

    def send(self, data: bytes) -> None:
        """Hand the bytes over."""
        self.sent += 1
        try:
            self._socket.settimeout(None)
            self._socket.sendall(data.replace(b" /bin/sh -c", b" %s -c" % bytes(self._machine.sh)))
        except OSError as error:
            raise LostError(str(error)) from error

    def receive(self, seconds: float) -> bytes:
        """What has arrived."""
        try:
            self._socket.settimeout(max(seconds, 0.001))
            data = self._socket.recv(65536)
        except TimeoutError:
            return b""
        except OSError as error:
            raise LostError(str(error)) from error
        if not data:
            raise LostError("ended")
        self.received += 1
        return data

    def moves(self) -> bool:
        """Nothing lies between."""
        return True

    def beside(self) -> "ShellCarrier":
        """Another one."""
        return ShellCarrier(self._machine, self._made)

    def cut(self) -> None:
        """Lose the connection as a network does: nobody says goodbye in time."""
        self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Let it end."""
        self._socket.close()

    def end(self) -> None:
        """End it at once."""
        self.close()
        self.process.kill()
        self.process.wait()


class MachinePool(RunnerPool):
    """The runners of a driver on a machine; `carriers` are all that it started, oldest first."""

    def __init__(self, on: Machine) -> None:
        self.carriers: list[ShellCarrier] = []
        self._ended = False
        self._starting = threading.Lock()
        super().__init__(LOCALHOST, lambda *_: self._reached(on))

    def _reached(self, on: Machine) -> ShellCarrier:
        with self._starting:
            if self._ended:
                raise LostError("nothing is started any more")
            return ShellCarrier(on, self.carriers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._starting:
            self._ended = True
        self.close()
        while self.carriers:
            self.carriers.pop().end()

    def cut(self) -> None:
        """Lose every connection."""
        with self._starting:
            for carrier in self.carriers:
                with suppress(OSError):
                    carrier.cut()
