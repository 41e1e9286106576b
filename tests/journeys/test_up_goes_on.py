"""`replan up` goes on, whatever becomes of its terminal and of its processes."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.journeys.answers import REPLAN
from tests.journeys.test_one_machine import Up, brought_up, greeting
from tests.services.processes import kill, running
from tests.services.ring import eventually


def named(up: Up, word: str) -> list[int]:
    """The processes of the stack with that word in their command line."""
    found = []
    for pid in up.everything():
        with suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if word.encode() in words:
                found.append(pid)
    return found


class UpOnPipe(Up):
    """`replan up` that prints into a pipe."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.data = folder, folder / "data"
        self.environ = {
            **{k: v for k, v in os.environ.items() if not k.startswith("REPLAN_")},
            "HOME": str(folder),
            "REPLAN_DATA_DIR": str(self.data),
            "REPLAN_UP_OF_TEST": str(folder),
        }
        self.process = subprocess.Popen(
            [*REPLAN, "up"],
            env=self.environ,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def close_pipe(self) -> None:
        """Read until it is up, and then no more."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if b"up; data in" in line:
                break
        self.process.stdout.close()


@contextmanager
def piped(folder: Path) -> Iterator[UpOnPipe]:
    up = UpOnPipe(folder)
    try:
        up.close_pipe()
        yield up
    finally:
        kill(up.everything())
        up.process.wait(10)


def test_nobody_has_to_read_what_it_prints(tmp_path: Path) -> None:
    """As in `replan up | head -1`: it would say that a process died, and cannot."""
    with piped(tmp_path) as up:
        (before,) = eventually(lambda: named(up, "executor"), "an executor")
        os.kill(before, signal.SIGKILL)
        eventually(lambda: [pid for pid in named(up, "executor") if pid != before], "another one")
        assert up.process.poll() is None
        done = up.replan("task", "submit", "--plan", greeting(tmp_path), "--local", "--wait")
        assert done.returncode == 0, done.stdout + done.stderr
        up.process.send_signal(signal.SIGTERM)
        assert up.process.wait(30) == 0


def test_processes_that_are_killed_again_and_again_are_back(tmp_path: Path) -> None:
    """Ten times in five seconds; how short the pauses stay is tested with the backoff itself."""
    with brought_up(tmp_path) as up:
        submitted = up.replan("task", "submit", "--plan", greeting(tmp_path), "--local")
        assert submitted.returncode == 0, submitted.stderr
        until = time.monotonic() + 5
        for kills in range(1, 11):
            for pid in [*named(up, "executor"), *named(up, "coordinator")]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            next_kill = until - 0.5 * (10 - kills)
            eventually(lambda moment=next_kill: time.monotonic() >= moment, "the next kill")  # type: ignore[misc]
        (one,) = eventually(lambda: named(up, "executor"), "an executor")
        assert running(one)
        done = up.replan("task", "watch", "T1")
        assert done.returncode == 0, done.stdout + done.stderr
