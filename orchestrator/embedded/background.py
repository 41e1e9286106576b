"""This process split in two: one goes on in the background, the other waits for its word."""

import os
import pickle
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from orchestrator.embedded.folder import make_private
from orchestrator.embedded.process import private
from orchestrator.embedded.watched import describe_exit
from shared.domain.errors import Defect, Misconfigured, ReplanError, Transient
from shared.domain.next_step import ShellCommand


@dataclass(frozen=True, slots=True)
class Foreground:
    """The process that waits; `pid` is that of the other, whose output is in `log`."""

    pid: int
    log: Path
    word: int

    def await_up(self) -> None:
        """Return once the other is up.

        Raises what the other said has kept it from that, and Defect if it ended without a word.
        Whoever interrupts the wait ends the other.
        """
        try:
            with os.fdopen(self.word, "rb") as word:
                said = word.read()
        except KeyboardInterrupt:
            os.kill(self.pid, signal.SIGTERM)
            os.waitpid(self.pid, 0)
            raise
        if not said:
            _, status = os.waitpid(self.pid, 0)
            raise Defect(
                f"the process in the background {describe_exit(os.waitstatus_to_exitcode(status))} "
                "before it was up",
                stage="start",
                next_step=ShellCommand(f"tail -n 50 {self.log}"),
            )
        failure = pickle.loads(said)  # noqa: S301 - of this very program, by its own pipe
        if failure is not None:
            os.waitpid(self.pid, 0)
            family, reason, stage, next_step = failure
            raise family(reason, stage=stage, next_step=next_step)


class Background:
    """The process that goes on, without a terminal; it says once how its start went."""

    def __init__(self, word: int) -> None:
        self._word: int | None = word

    def tell_up(self) -> None:
        """Let the other process return."""
        self._tell(None)

    def tell_failure(self, error: ReplanError) -> bool:
        """Let the other process raise an error; whether it was waiting for a word."""
        return self._tell((_family(error), error.reason, error.stage, error.next_step))

    def _tell(self, word: object) -> bool:
        telling, self._word = self._word, None
        if telling is None:
            return False
        try:
            with os.fdopen(telling, "wb") as pipe:
                pipe.write(pickle.dumps(word))
        except BrokenPipeError:
            return False
        return True


def split(log: Path) -> Foreground | Background:
    """Both processes return from here; called while there is only one thread.

    The one in the background has a session of its own: no closed terminal and no Ctrl-C reaches it.
    Its output goes to `log`. Raises Misconfigured if that cannot be written.
    """
    make_private(log.parent.parent)
    make_private(log.parent)
    try:
        output = private(log)
    except OSError as error:
        raise Misconfigured(
            f"{log} cannot be written: {error.strerror}",
            stage="start",
            next_step=ShellCommand(f"ls -l {log}"),
        ) from error
    word, telling = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    with output:
        pid = os.fork()
        if not pid:
            os.setsid()
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
    if pid:
        os.close(telling)
        return Foreground(pid, log, word)
    _let_go_of_files(telling)
    return Background(telling)


def _let_go_of_files(but: int) -> None:
    """Close what whoever started this process waits for, or has locked: it may hand down files."""
    os.closerange(3, but)
    os.closerange(but + 1, os.sysconf("SC_OPEN_MAX"))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def _family(error: ReplanError) -> type[ReplanError]:
    """The family of an error, whose members all begin alike."""
    return Transient if isinstance(error, Transient) else type(error)
