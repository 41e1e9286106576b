"""A shell on a host whose commands outlive whoever asked for them."""

import itertools
import secrets
import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from time import monotonic

from shared.domain.attempt import CommandResult, OnOutput
from shared.domain.errors import ReplanError
from shared.domain.host import Host
from shared.secrets.masking import Masker
from workers.ports import NO_VARIABLES, Cancelled, Foreseen, PassRecord, Recalled
from workers.shells.remote.capture import STREAM_LIMIT
from workers.shells.remote.channels import LostError
from workers.shells.remote.errors import no_workdir, transient
from workers.shells.remote.follow import Follower, Outcome, left_to_another, remaining
from workers.shells.remote.output import Output
from workers.shells.remote.pipeline import Ahead, Sent
from workers.shells.remote.records import Record
from workers.shells.remote.runner import LATE_SECONDS, Killed, Refused, Runner, Start
from workers.shells.remote.runner_slot import Lane
from workers.shells.remote.runners import RunnerPool
from workers.shells.remote.script import checked
from workers.shells.remote.takeover import UNKEYED, Known, overtaken, take_over
from workers.shells.remote.waiting import Deadline, Stop, never_ran

_FOREVER = 10**9

_ROUNDING = 2.0
"""Hosts count in whole seconds: what is worked out from that is never told as too early."""

_TRIES = 6
_TOO_EARLY = frozenset({"late", "skip"})
"""Why a command that was sent ahead may be refused and yet be started now."""

_HOW = {"TERM": "ended by TERM", "KILL": "ended by KILL, since TERM did not end it"}


@dataclass(frozen=True, slots=True)
class _Asked:
    """One call of `run`."""

    command: str
    timeout: float
    deadline: Deadline
    on_output: OnOutput | None
    key: str
    label: str
    variables: Mapping[str, str] = field(repr=False)

    @property
    def once(self) -> str | None:
        """The key that its caller gave it, if any."""
        return None if self.key.startswith(UNKEYED) else self.key


class RunnerShell:
    """A shell on a host; see `workers.ports.Shell`.

    Commands with a key, and those that come one at a time, run on one runner; what comes while
    that is busy runs on another.
    """

    def __init__(
        self,
        host: Host,
        pool: RunnerPool,
        record: PassRecord | None = None,
        *,
        stream_limit: int = STREAM_LIMIT,
        masker: Masker | None = None,
    ) -> None:
        self._masker = masker
        self._host = host
        self._pool = pool
        self._record = record
        self._stream_limit = stream_limit
        self._busy = threading.Lock()
        self._lane = Lane(pool, self._open_temporary if record is None else self._open_pass)
        self._known: dict[str, Known] = {}
        self._ahead = Ahead(self._valid_for)
        self._unsettled = False
        self._opened = 0
        self._looks = itertools.count(1)
        self._begun = monotonic()
        self._restarted = False
        self._follower = Follower(pool, self._given_up)
        if record is not None and record.resumed:
            self._recall()

    def run(
        self,
        command: str,
        *,
        timeout: float,
        on_output: OnOutput | None = None,
        cancelled: Cancelled | None = None,
        key: str | None = None,
        label: str = "",
        variables: Mapping[str, str] = NO_VARIABLES,
    ) -> CommandResult:
        """Run a command; see `workers.ports.Shell.run`.

        Raises Rejected for a command that no host can take, Misconfigured when the workdir cannot
        be entered, the account cannot run /bin/sh, or processes of a command that had to end could
        not be ended.
        """
        checked(command)
        if cancelled is not None and cancelled() and key not in self._known:
            self.withdraw()
            if key not in self._known:
                return never_ran(command)
        asked = _Asked(
            command,
            timeout,
            Deadline(timeout, cancelled),
            on_output,
            key or f"{UNKEYED}{next(self._looks)}",
            label,
            variables,
        )
        with self._free_lane(waits=key is not None) as lane:
            return self._until_done(lane, asked)

    def recalled(self, key: str) -> Recalled | None:
        """What an earlier driver of this pass started under that key."""
        known = self._known.get(key)
        return None if known is None else Recalled(known.record.command, known.record.label)

    def foresee(self, calls: Generator[Foreseen]) -> None:
        """What comes next in this pass; see `workers.ports.Shell.foresee`."""
        with self._busy:
            if self._record is None or self._ahead.waiting:
                calls.close()
            else:
                self._ahead.foresee(calls)

    def withdraw(self) -> None:
        """Start nothing more of what was foreseen; see `workers.ports.Shell.withdraw`."""
        with self._busy:
            self._ahead.forget_coming()
            if self._ahead.waiting:
                self._leave(self._lane)
            if self._unsettled:
                self._recall()

    def close(self) -> None:
        """Give the runner back; what still runs goes on, and nothing more is started."""
        with self._busy:
            if self._ahead.waiting:
                self._leave(self._lane)
            self._lane.close()

    def _recall(self) -> None:
        cause: LostError | None = None
        for _ in range(_TRIES):
            try:
                self._lane.ready()
            except LostError as lost:
                cause = lost
            else:
                return
        raise self._lost(cause)

    def erase(self) -> None:
        """Leave no output on the host; see `workers.ports.Shell.erase`."""
        if self._record is None:
            return
        try:
            with self._pool.runner() as runner:
                runner.erase(self._record.name)
        except LostError as lost:
            raise self._lost(lost) from lost

    @contextmanager
    def _free_lane(self, *, waits: bool) -> Iterator[Lane]:
        if self._busy.acquire(blocking=waits):
            try:
                yield self._lane
            finally:
                self._busy.release()
            return
        lane = Lane(self._pool, self._open_temporary)
        try:
            yield lane
        finally:
            lane.close()

    def _until_done(self, lane: Lane, asked: _Asked) -> CommandResult:
        cause: object = "its disk is full"
        for _ in range(_TRIES):
            try:
                result = self._try(lane, asked)
            except LostError as lost:
                cause = lost
                self._leave(lane)
            except BaseException:
                # The runner may still be at it; whoever comes next takes another one.
                self._leave(lane)
                raise
            else:
                if result is not None:
                    return result
        raise self._lost(cause)

    def _try(self, lane: Lane, asked: _Asked) -> CommandResult | None:
        """The result; None when it is to be tried again."""
        sent = self._sent_already(lane, asked)
        runner = lane.ready()
        output = Output(asked.on_output, self._stream_limit, self._masker)
        known = self._known.get(asked.key)
        if known is not None:
            return self._attach(runner, known, asked, output)
        if self._restarted and asked.once is not None:
            self._restarted = False
            return _result(asked, datetime.now(UTC), output, _RESTARTED)
        started = datetime.now(UTC)
        asked.deadline.restart()  # reaching the host took what it took
        if lane is self._lane:
            # What opens the pass may have sent it.
            sent = sent or self._sent_already(lane, asked)
            sent = sent or self._ahead.send(runner, asked.command, asked.once)
        if sent is not None:
            asked = replace(asked, key=sent.key)
        outcome = self._start(runner, asked, output, sent)
        if isinstance(outcome, Refused):
            if sent is None or outcome.why not in _TOO_EARLY:
                self._explain(runner, outcome)
                lane.reopen()
            return None
        self._gather(runner, outcome, output)
        if outcome.reader is not None:
            self._pool.give_back(outcome.reader)
            self._leave(lane)
        return _result(asked, started, output, outcome)

    def _sent_already(self, lane: Lane, asked: _Asked) -> Sent | None:
        """What the runner was sent for this; when that is something else, it is left to itself."""
        if lane is not self._lane or not self._ahead.waiting:
            return None
        sent = self._ahead.sent(asked.command, asked.once)
        if sent is None:
            self._leave(lane)
        return sent

    def _start(
        self, runner: Runner, asked: _Asked, output: Output, sent: Sent | None
    ) -> Outcome | Refused:
        until = runner.uptime(asked.timeout + LATE_SECONDS)
        record = Record(asked.key, runner.stem, None, until, asked.label, asked.command)
        if sent is None:
            not_after = runner.uptime(self._valid_for())
            runner.begin(
                Start(
                    asked.key,
                    asked.command,
                    not_after,
                    asked.timeout,
                    asked.label,
                    asked.variables,
                )
            )
        try:
            outcome = self._follower.own(
                runner, record, asked.deadline, output, more=sent is not None
            )
        except (LostError, ReplanError):
            raise
        except BaseException:
            # The caller's own function failed: nobody waits for the command any more.
            self._follower.abandon(runner, record)
            raise
        if sent is not None:
            self._advance(runner, outcome)
        return outcome

    def _advance(self, runner: Runner, outcome: Outcome | Refused) -> None:
        """Go on to what was sent next, or leave the runner if it was told to start no more."""
        if isinstance(outcome, Refused):
            self._ahead.answered(runner, outcome)
        elif outcome.stop is Stop.EXITED and outcome.ended is not None:
            self._ahead.answered(runner, outcome.ended)
            self._ahead.refill(runner)
        else:
            self._leave(self._lane)

    def _gather(self, runner: Runner, outcome: Outcome, output: Output) -> None:
        if outcome.ended is None:
            return
        if outcome.reader is None and not outcome.ended.whole and self._ahead.waiting:
            with self._pool.runner() as second:
                output.gather(second, runner.stem, outcome.ended)
            return
        output.gather(outcome.reader or runner, runner.stem, outcome.ended)

    def _leave(self, lane: Lane) -> None:
        """Leave the runner to itself; what it was sent and has begun is recalled by the next."""
        lane.drop()
        if lane is self._lane:
            self._unsettled = self._unsettled or self._ahead.waiting
            self._ahead.forget()

    def _valid_for(self) -> float:
        return _FOREVER if self._record is None else self._record.valid_for()

    def _attach(self, runner: Runner, known: Known, asked: _Asked, output: Output) -> CommandResult:
        left = remaining(runner, known.record)
        asked.deadline.shorten(left)
        elapsed = max(0.0, asked.timeout - left - _ROUNDING)
        started = datetime.now(UTC) - timedelta(seconds=elapsed)
        outcome = self._follower.other(runner, known, asked.deadline, output)
        if outcome.ended is not None:
            output.gather(runner, known.record.stem, outcome.ended)
        return _result(asked, started, output, outcome)

    def _explain(self, runner: Runner, refused: Refused) -> None:
        """Raise what a refusal means, unless another file may help."""
        match refused.why:
            case "full":
                return
            case "late":
                raise left_to_another(runner)
            case "nodir":
                raise no_workdir(self._host)
        raise overtaken(runner)

    def _open_pass(self, runner: Runner) -> None:
        if self._record is None:
            raise AssertionError("no pass to open")
        self._opened += 1
        first = self._opened == 1 and not self._record.resumed
        others = runner.open(
            f"{self._record.name}.{self._record.fence}.{self._opened}",
            then=self._ahead.first(runner) if first else (),
        )
        if others:
            self._ahead.skipped(runner)
            self._known |= take_over(runner, others)
        self._unsettled = False
        if self._record.resumed or self._opened > 1:
            age = self._record.since + monotonic() - self._begun
            self._restarted = runner.uptime() < age

    def _open_temporary(self, runner: Runner) -> None:
        runner.open(f"{UNKEYED}s/{secrets.token_hex(6)}.0.0")

    def _given_up(self) -> bool:
        return self._record is not None and self._record.given_up()

    def _lost(self, cause: object) -> ReplanError:
        return transient(
            self._host,
            f"the connection was lost again and again ({cause}); what it ran may still run there",
            stage="execute",
        )


def _result(asked: _Asked, started: datetime, output: Output, outcome: Outcome) -> CommandResult:
    out, err = output.captures["stdout"], output.captures["stderr"]
    natural = outcome.stop in {Stop.EXITED, Stop.HELD} and outcome.ended is not None
    return CommandResult(
        asked.command,
        outcome.ended.exit_code if natural and outcome.ended is not None else None,
        out.content(),
        err.content(),
        started,
        datetime.now(UTC),
        timed_out=outcome.stop is Stop.TIMED_OUT,
        cancelled=outcome.stop is Stop.CANCELLED,
        stdout_dropped=out.dropped,
        stderr_dropped=err.dropped,
        ended=_how(outcome.killed),
        unknown=outcome.unknown,
    )


def _how(killed: Killed) -> str:
    if killed.how == "LEFT":
        return f"could not be ended; left over: {' '.join(killed.left)}"
    return _HOW.get(killed.how, "")


_RESTARTED = Outcome(
    None, Stop.LOST, unknown="the host was restarted, and has no record of it any more"
)
