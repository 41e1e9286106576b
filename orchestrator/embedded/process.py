"""One running child of this process, tied to its life and ended with everything it started."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

TETHER: Final = Path(__file__).with_name("tether.py")
KERNEL_SENDS_DEATH_SIGNAL: Final = sys.platform == "linux"


@dataclass(frozen=True, slots=True)
class Tether:
    """How a program is tied to this process.

    `death_signal` reaches it when the thread that launched it ends, however it ends. With
    `unprivileged` it does not run as root; `owned` is a folder that then belongs to its user.
    """

    death_signal: signal.Signals = signal.SIGTERM
    unprivileged: bool = False
    owned: Path | None = None
    by_kernel: bool = KERNEL_SENDS_DEATH_SIGNAL

    def argv(
        self, program: tuple[str, ...], watch_fd: int | None, begun_fd: int | None = None
    ) -> list[str]:
        """The command that ties and then becomes `program`; `begun_fd` is closed at that moment."""
        options = [f"--signal={int(self.death_signal)}", f"--parent={os.getpid()}"]
        if begun_fd is not None:
            options.append(f"--begun-fd={begun_fd}")
        if watch_fd is not None:
            options.append(f"--watch-fd={watch_fd}")
        if self.unprivileged:
            options.append("--unprivileged")
        if self.owned is not None:
            options.append(f"--owned={self.owned}")
        # -I -S: no site-packages, which makes it start in a third of the time.
        return [sys.executable, "-I", "-S", str(TETHER), *options, "--", *program]


class Process:
    """A launched program in a session of its own, so that Ctrl-C reaches only its parent."""

    def __init__(self, popen: subprocess.Popen[bytes], begun: int, watch: int | None) -> None:
        self._popen = popen
        self._begun: int | None = begun
        self._watch = watch
        self.pid = popen.pid

    @classmethod
    def launch(
        cls,
        program: tuple[str, ...],
        *,
        tether: Tether,
        log: Path,
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
    ) -> "Process":
        """Start `program`, its output appended to `log`; raises OSError if it cannot."""
        begun, beginning = os.pipe()
        os.set_blocking(begun, False)
        reader, writer = (None, None) if tether.by_kernel else os.pipe()
        handed = tuple(fd for fd in (beginning, reader) if fd is not None)
        with contextlib.ExitStack() as kept, contextlib.ExitStack() as stack:
            for fd in (begun, writer):
                if fd is not None:
                    kept.callback(os.close, fd)
            for fd in handed:
                stack.callback(os.close, fd)
            output = stack.enter_context(private(log))
            popen = subprocess.Popen(
                tether.argv(program, reader, beginning),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=env,
                cwd=cwd,
                start_new_session=True,
                pass_fds=handed,
            )
            kept.pop_all()
        return cls(popen, begun, writer)

    def has_begun(self) -> bool:
        """Whether the tether has become the program, or has ended because it could not."""
        if self._begun is not None:
            with contextlib.suppress(BlockingIOError):
                os.read(self._begun, 1)  # the end of the file: nobody has it open any more
                os.close(self._begun)
                self._begun = None
        return self._begun is None

    def exit_code(self) -> int | None:
        """None while it runs; after its end its exit code, or minus the signal that killed it.

        Whatever it left in its process group is killed before it is reaped, while the group's
        number cannot belong to anybody else.
        """
        if self._popen.returncode is None and self._has_ended():
            self.send_group(signal.SIGKILL)
            self._popen.wait()
            self._let_go()
        return self._popen.returncode

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the program alone; nothing happens if it has ended."""
        if self._popen.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def send_group(self, number: signal.Signals) -> None:
        """Send a signal to the program and what it started in its group."""
        if self._popen.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def end(self, number: signal.Signals | None, within: float) -> int:
        """Ask it to stop (None: it was asked); after `within` seconds kill it and its group.

        The exit code.
        """
        if number is not None:
            self.send(number)
        code = self.wait(within)
        if code is None:
            self.send_group(signal.SIGKILL)
            self._popen.wait()
            self._let_go()
            code = self._popen.returncode
        return code

    def wait(self, within: float) -> int | None:
        """The exit code, or None if it still runs after `within` seconds."""
        deadline = time.monotonic() + within
        while (code := self.exit_code()) is None and time.monotonic() < deadline:
            time.sleep(0.01)
        return code

    def _has_ended(self) -> bool:
        if not hasattr(os, "waitid"):
            return self._popen.poll() is not None
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _let_go(self) -> None:
        if self._begun is not None:
            os.close(self._begun)
            self._begun = None
        if self._watch is not None:
            with contextlib.suppress(BrokenPipeError):
                os.write(self._watch, b".")
            os.close(self._watch)
            self._watch = None


def private(log: Path, *, keep: int = 5_000_000) -> IO[bytes]:
    """`log` opened for appending, readable by its owner only, begun anew beyond `keep` bytes."""
    if log.exists() and log.stat().st_size > keep:
        log.replace(log.with_suffix(log.suffix + ".1"))
    return os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")
