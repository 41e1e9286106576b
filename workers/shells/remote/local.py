"""Runs commands on the worker's own machine, with the same promises as over SSH."""

import os
import selectors
import subprocess
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from shared.domain.attempt import CommandResult, OnOutput
from shared.domain.host import LOCALHOST, Host
from shared.secrets.masking import Masker
from workers.passes.ports import Cancelled
from workers.shells.ports import Call
from workers.shells.remote.capture import STREAM_LIMIT, Capture
from workers.shells.remote.environment import local_environment
from workers.shells.remote.errors import no_workdir, not_ended, transient
from workers.shells.remote.live_output import STREAMS, Teller
from workers.shells.remote.script import GRACE_SECONDS, checked, ending
from workers.shells.remote.signals import exit_code_from_wait
from workers.shells.remote.waiting import (
    ENDED_BY,
    POLL_SECONDS,
    Aftermath,
    Deadline,
    Stop,
    never_ran,
)

_CHUNK = 65_536
_LAST_WORDS_SECONDS = 2.0
_ENDING_SECONDS = 15.0


class LocalShell:
    """A shell on a machine without /proc; see `workers.shells.ports.Shell`.

    Nothing there tells a process apart for good, so that commands cannot be found again: they end
    with their worker, and keys mean nothing.

    Commands get the environment of a fresh login, not the worker's. A process that a command leaves
    in the background with its output still open does not hold up the result.
    """

    def __init__(
        self,
        host: Host = LOCALHOST,
        *,
        stream_limit: int = STREAM_LIMIT,
        masker: Masker | None = None,
    ) -> None:
        self._host = host
        self._masker = masker
        self._stream_limit = stream_limit
        self._environment = local_environment()

    def run(
        self,
        call: Call,
        *,
        on_output: OnOutput | None = None,
        cancelled: Cancelled | None = None,
    ) -> CommandResult:
        """Run a command; see `workers.shells.ports.Shell.run`.

        Raises Rejected for a command that no shell can take, Misconfigured when the workdir cannot
        be entered or processes of a command could not be ended, Transient when the machine has no
        room for another process.
        """
        checked(call.command)
        if cancelled is not None and cancelled():
            return never_ran(call.command)
        teller = Teller(on_output, self._masker)
        out, err = (
            Capture(name, teller.tell, limit=self._stream_limit, masker=self._masker)
            for name in STREAMS
        )
        started = datetime.now(UTC)
        with self._started(call.command, call.variables) as process:
            stop = self._follow(_Running(process, out, err), Deadline(call.timeout, cancelled))
            returncode = process.returncode
        teller.finish()
        ended = stop in (Stop.EXITED, Stop.HELD) and returncode is not None
        return CommandResult(
            call.command,
            exit_code_from_wait(returncode) if ended else None,
            out.content(),
            err.content(),
            started,
            datetime.now(UTC),
            stdout_dropped=out.dropped,
            stderr_dropped=err.dropped,
            ended_by=ENDED_BY.get(stop),
        )

    def pipeline(self, calls: Generator[Call]) -> None:
        """Nothing is started before it is asked for."""
        calls.close()

    def cancel_pipeline(self) -> None:
        """Nothing is started before it is asked for."""

    def recalled(self, key: str) -> None:
        """Nothing is kept."""

    def erase(self) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing to give back."""

    @contextmanager
    def _started(
        self, command: str, variables: Mapping[str, str]
    ) -> Iterator[subprocess.Popen[bytes]]:
        try:
            process = subprocess.Popen(
                ["sh", "-c", command],
                executable="/bin/sh",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=self._workdir(),
                env={**self._environment, **variables},
                start_new_session=True,
                restore_signals=True,
            )
        except OSError as error:
            sentence = f"no process could be started: {error.strerror}"
            raise transient(self._host, sentence, stage="execute") from error
        try:
            yield process
        finally:
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
            process.poll()

    def _workdir(self) -> Path:
        home = Path(self._environment["HOME"])
        if self._host.workdir is None:
            return home if _can_enter(home) else Path("/")
        workdir = home / Path(self._host.workdir).expanduser()
        if not _can_enter(workdir):
            raise no_workdir(self._host)
        return workdir

    def _follow(self, running: "_Running", deadline: Deadline) -> Stop:
        with running:
            try:
                stop = running.until(deadline)
            except BaseException:
                # The caller's own function failed: nobody waits for the command any more.
                self._end(running.process)
                raise
            if stop in (Stop.TIMED_OUT, Stop.CANCELLED):
                self._end(running.process)
                running.until(Deadline(_LAST_WORDS_SECONDS))
            return stop

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """End the command's whole session; see `script.ending`."""
        ended = subprocess.run(
            ["sh", "-c", ending(process.pid, grace=GRACE_SECONDS)],
            executable="/bin/sh",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=self._environment,
            start_new_session=True,
            timeout=_ENDING_SECONDS,
            check=False,
        )
        if ended.returncode != 0:
            raise not_ended(self._host, ended.stdout.decode("utf-8", "replace").strip())


class _Running:
    """A process with its two streams and its end, all waited for at once."""

    def __init__(self, process: subprocess.Popen[bytes], out: Capture, err: Capture) -> None:
        self.process = process
        self._captures = {"stdout": out, "stderr": err}
        self._selector = selectors.DefaultSelector()
        self._open = 0
        self._pidfd: int | None = None
        self._aftermath = Aftermath()

    def __enter__(self) -> Self:
        for name, stream in (("stdout", self.process.stdout), ("stderr", self.process.stderr)):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                self._selector.register(stream.fileno(), selectors.EVENT_READ, name)
                self._open += 1
        if hasattr(os, "pidfd_open"):
            self._pidfd = os.pidfd_open(self.process.pid)
            self._selector.register(self._pidfd, selectors.EVENT_READ, None)
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        if self._pidfd is not None:
            os.close(self._pidfd)

    def until(self, deadline: Deadline) -> Stop:
        """Read both streams until the command has ended or the deadline has passed."""
        while True:
            stop = self._ended()
            if stop is None and not self._aftermath.begun:
                stop = deadline.passed()
            if stop is not None:
                return stop
            self._take(self._patience(deadline))

    def _take(self, patience: float) -> None:
        for key, _ in self._selector.select(patience):
            if key.data is None:
                self._selector.unregister(key.fd)
                continue
            chunk = _read(key.fd)
            if chunk is None:
                continue
            if chunk:
                self._aftermath.heard()
                self._captures[key.data].take(chunk)
            else:
                self._selector.unregister(key.fd)
                self._open -= 1

    def _ended(self) -> Stop | None:
        if self.process.poll() is None:
            return None
        if not self._open:
            return Stop.EXITED
        return Stop.HELD if self._aftermath.over() else None

    def _patience(self, deadline: Deadline) -> float:
        if self._aftermath.begun:
            return self._aftermath.patience()
        patience = deadline.patience()
        return patience if self._pidfd is not None else min(patience, POLL_SECONDS / 2)


def _read(fd: int) -> bytes | None:
    try:
        return os.read(fd, _CHUNK)
    except BlockingIOError:
        return None


def _can_enter(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.X_OK)
