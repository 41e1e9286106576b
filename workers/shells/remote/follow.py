"""Waits for a command that this driver or another one started."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from shared.domain.attempt import Unknown
from shared.domain.errors import Transient
from workers.shells.questions import asks
from workers.shells.records import CommandRecord, State
from workers.shells.remote.errors import processes_left, transient
from workers.shells.remote.output import Output, start_live_output
from workers.shells.remote.runner import NOT_KILLED, Ended, Killed, Refused, Runner
from workers.shells.remote.runner_text import LATE_SECONDS
from workers.shells.remote.runners import RunnerPool
from workers.shells.remote.takeover import StartedCommand
from workers.shells.remote.waiting import POLL_SECONDS, Deadline, Stop

_LIVE_AFTER = 0.3
_ENDING_SECONDS = 3.0
_LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class WaitResult:
    """The result of waiting for a command: its end, or why its end is unknown.

    `stop` says why it was ended early, `killed` how. `reader` is the runner that reads its output
    if the runner that ran it does not answer.
    """

    ended: Ended | None
    stop: Stop = Stop.EXITED
    killed: Killed = NOT_KILLED
    unknown: Unknown | None = None
    reader: Runner | None = None


class Waiter:
    """Waits for the commands of one pass, or of none; see `RunnerShell`."""

    def __init__(self, pool: RunnerPool, given_up: Callable[[], bool]) -> None:
        self._pool = pool
        self._given_up = given_up

    def own(
        self,
        runner: Runner,
        record: CommandRecord,
        deadline: Deadline,
        output: Output,
        *,
        more: bool = False,
    ) -> WaitResult | Refused:
        """Wait for the command that this runner runs.

        `more` says that the runner may have further commands: if this one has to be ended, none
        of those starts.
        """
        begun, live = monotonic(), False
        while True:
            ended = runner.await_end(min(deadline.patience(), POLL_SECONDS))
            if isinstance(ended, Refused):
                return ended
            if ended is not None:
                return WaitResult(ended)
            if output.failed is not None:
                raise output.failed
            stop = self._stop(runner, deadline)
            if stop is not None:
                return self._end_early(runner, record, stop, more=more)
            if output.is_live and not live and monotonic() - begun > _LIVE_AFTER:
                live = True
                start_live_output(self._pool, record, runner.identity, output)

    def other(
        self, runner: Runner, known: StartedCommand, deadline: Deadline, output: Output
    ) -> WaitResult:
        """Wait, from this runner, for a command that another runner runs."""
        stop, killed = None, NOT_KILLED
        record = known.record
        if record.state is State.RUNNING:
            stop, killed = self._until_over(runner, known, deadline, output)
            record = runner.log(record.stem).records[record.key]
            runner.quit(known.runner, known.record.stem)
        if record.exit_code is None:
            hung = stop is not None and asks(record.command)
            unknown = None if hung else _why_unknown(runner, known)
            return WaitResult(None, stop or Stop.LOST, killed, unknown=unknown)
        return WaitResult(
            _recorded_end(record), stop or _STOPS.get(record.why, Stop.EXITED), killed
        )

    def abandon(self, runner: Runner, record: CommandRecord) -> None:
        """End a command that nobody waits for."""
        self._kill(runner, StartedCommand(record, runner.identity), Stop.CANCELLED)

    def _until_over(
        self, runner: Runner, known: StartedCommand, deadline: Deadline, output: Output
    ) -> tuple[Stop | None, Killed]:
        if known.runner.space != runner.identity.space or known.runner.boot != runner.identity.boot:
            return self._from_afar(runner, known, deadline)
        runner.follow(known.record, known.runner, output.sent)
        stop, killed = None, NOT_KILLED
        while True:
            came = runner.next_output(min(deadline.patience(), POLL_SECONDS))
            if came is not None and came[0] in {"ended", "gone"}:
                break
            if came is not None:
                output.send_live(*came)
            if stop is None and (stop := self._stop(runner, deadline)) is not None:
                killed = self._kill(runner, known, stop)
                if asks(known.record.command):
                    self._quit(runner, known)
        if came[0] == "gone":
            return self._orphan(runner, known, deadline, stop, killed)
        return stop, killed

    def _end_early(
        self, runner: Runner, record: CommandRecord, stop: Stop, *, more: bool
    ) -> WaitResult:
        known = StartedCommand(record, runner.identity)
        second = self._pool.beside(runner)
        try:
            if more:
                second.stop(record.stem)
            killed = self._kill_with(second, known, stop)
            ended = runner.await_end(_ENDING_SECONDS)
            if isinstance(ended, Ended):
                self._pool.give_back(second)
                return WaitResult(ended, stop, killed)
            found = second.log(record.stem).records.get(record.key, record)
            if asks(record.command):
                second.quit(known.runner, record.stem)
                if found.exit_code is not None:  # the next one hangs, so this answer was not sent
                    stop, killed = Stop.EXITED, NOT_KILLED
        except BaseException:
            self._pool.drop(second)
            raise
        return WaitResult(_recorded_end(found), stop, killed, reader=second)

    def _orphan(
        self,
        runner: Runner,
        known: StartedCommand,
        deadline: Deadline,
        stop: Stop | None,
        killed: Killed,
    ) -> tuple[Stop | None, Killed]:
        """Wait for what a killed runner had started."""
        while runner.remaining_processes(known.record, known.runner):
            if stop is None and (stop := self._stop(runner, deadline)) is not None:
                killed = runner.kill(known.record, known.runner, _WHY[stop])
                break
            deadline.pause(_LOOK_SECONDS)
        return stop, killed

    def _from_afar(
        self, runner: Runner, known: StartedCommand, deadline: Deadline
    ) -> tuple[Stop | None, Killed]:
        """Wait where its processes are not visible: only its record says whether it has ended."""
        if known.runner.boot == runner.identity.boot:
            while runner.log(known.record.stem).open is not None:
                stop = self._stop(runner, deadline)
                if stop is not None:
                    return stop, Killed("LEFT", ("what runs in another container",))
                deadline.pause(_LOOK_SECONDS)
        return None, NOT_KILLED

    def _stop(self, runner: Runner, deadline: Deadline) -> Stop | None:
        if self._given_up():
            raise handed_over(runner)
        return deadline.stop_reason()

    def _kill(self, runner: Runner, known: StartedCommand, stop: Stop) -> Killed:
        second = self._pool.beside(runner)
        try:
            killed = self._kill_with(second, known, stop)
        except BaseException:
            self._pool.drop(second)
            raise
        self._pool.give_back(second)
        return killed

    def _quit(self, runner: Runner, known: StartedCommand) -> None:
        """End a runner that hangs in a question, for example on a dead file system."""
        second = self._pool.beside(runner)
        try:
            second.quit(known.runner, known.record.stem)
        except BaseException:
            self._pool.drop(second)
            raise
        self._pool.give_back(second)

    def _kill_with(self, runner: Runner, known: StartedCommand, stop: Stop) -> Killed:
        killed = runner.kill(known.record, known.runner, _WHY[stop])
        if killed.how == "LEFT" and stop is Stop.TIMED_OUT:
            raise processes_left(runner.host, " ".join(killed.left))
        return killed


def handed_over(runner: Runner) -> Transient:
    """The error for a driver that gives the pass up; whatever it runs goes on."""
    return transient(runner.host, "the pass was handed to another worker", stage="execute")


def remaining(runner: Runner, record: CommandRecord) -> float:
    """Seconds until the timeout of a running command."""
    return max(0.0, record.until - LATE_SECONDS - runner.uptime())


def _recorded_end(record: CommandRecord) -> Ended | None:
    if record.exit_code is None:
        return None
    cut = record.number is not None
    return Ended(record.exit_code, number=record.number, cut=cut, left=record.left)


def _why_unknown(runner: Runner, known: StartedCommand) -> Unknown:
    if known.runner.boot != runner.identity.boot:
        return Unknown.HOST_RESTARTED
    if known.runner.space != runner.identity.space:
        return Unknown.OTHER_CONTAINER
    return Unknown.SHELL_KILLED


_WHY = {Stop.TIMED_OUT: "timeout", Stop.CANCELLED: "cancel"}
_STOPS = {"timeout": Stop.TIMED_OUT, "cancel": Stop.CANCELLED}
