"""A shell on a host; its commands outlive the worker that started them."""

import itertools
import secrets
import threading
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from time import monotonic

from shared.domain.attempt import CommandResult, OnOutput
from shared.domain.containment import Containment, Hidden
from shared.domain.errors import Defect, ReplanError
from shared.domain.host import Host
from shared.secrets.masking import Masker
from workers.passes.ports import Cancelled
from workers.shells.ports import LOOK, Call, KnownClaims, PassRecord
from workers.shells.records import CommandRecord, Stem, stem_of, stem_text
from workers.shells.remote.capture import STREAM_LIMIT
from workers.shells.remote.channels import LostError
from workers.shells.remote.errors import transient
from workers.shells.remote.follow import Waiter, WaitResult, remaining
from workers.shells.remote.frames import Refusal
from workers.shells.remote.output import Output
from workers.shells.remote.pipeline import CallPipeline
from workers.shells.remote.refusals import require_room
from workers.shells.remote.results import REMOVED, RESTARTED, broken_containment, result_of
from workers.shells.remote.runner import KEPT_SECONDS, Ended, Refused, Runner
from workers.shells.remote.runner_slot import RunnerSlot
from workers.shells.remote.runner_text import LATE_SECONDS
from workers.shells.remote.runners import RunnerPool
from workers.shells.remote.takeover import (
    StartedCommand,
    Stems,
    sort_stems,
    take_over,
)
from workers.shells.remote.waiting import Deadline, Stop, never_ran

_FOREVER = 10**9

_ROUNDING = 2.0
"""Hosts count in whole seconds: this keeps a derived time from being too early."""

_TRIES = 6
_TOO_EARLY = frozenset({Refusal.LATE, Refusal.SKIP})
"""Reasons to refuse a command that was sent ahead, after which it may still start now."""


class RunnerShell:
    """A shell on a host; see `workers.shells.ports.Shell`.

    Commands with a key, and commands that come one at a time, share one runner; a command that
    comes while it is busy runs on another.
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
        self._slot = RunnerSlot(pool, self._open_temporary if record is None else self._open_pass)
        self._known: dict[str, StartedCommand] = {}
        self._pipeline = CallPipeline(self._valid_for)
        self._unsettled = False
        self._folder = host.workdir or ""
        self._hidden: Hidden | None = None
        self._broken: Counter[str] = Counter()
        self._claims = KnownClaims()
        self._opened = 0
        self._written: set[str] = set()
        self._looks = itertools.count(1)
        self._begun = monotonic()
        self._lost_records: WaitResult | None = None
        self._waiter = Waiter(pool, self._given_up)
        if record is not None and record.resumed:
            self._recall_records()

    def run(
        self,
        call: Call,
        *,
        on_output: OnOutput | None = None,
        cancelled: Cancelled | None = None,
    ) -> CommandResult:
        """Run a command; see `workers.shells.ports.Shell.run`.

        Raises Rejected for a command that no host can take, and Misconfigured if the workdir
        cannot be entered, the account cannot run /bin/sh, or processes of a command that had to
        end are still running.
        """
        call.require_valid()
        if call.contained and self._hidden is None:
            raise Defect("a contained call on a host without a containment", stage="execute")
        if cancelled is not None and cancelled() and call.key not in self._known:
            self.cancel_pipeline()
            if call.key not in self._known:
                return never_ran(call.command)
        deadline = Deadline(call.timeout, cancelled)
        with self._free_slot(waits=call.key is not None) as slot:
            if call.key is None:
                call = replace(call, key=f"{LOOK}{next(self._looks)}")
            return self._until_done(slot, call, deadline, on_output)

    def containment(self, hidden: Hidden) -> Containment:
        """Whether calls can run contained; see `workers.shells.ports.Shell.containment`."""
        for _ in range(_TRIES):
            with suppress(LostError):
                found = self._pool.containment(hidden, self._folder)
                self._hidden = hidden if found.is_there else None
                return found
        raise self._lost("no containment")

    def recall(self, key: str) -> CommandRecord | None:
        """The command that an earlier driver of this pass started under that key."""
        known = self._known.get(key)
        return None if known is None else known.record

    def pipeline(self, calls: Generator[Call]) -> None:
        """Announce what comes next; see `workers.shells.ports.Shell.pipeline`."""
        with self._busy:
            if self._record is None or self._pipeline.waiting:
                calls.close()
            else:
                self._pipeline.announce(calls)

    def cancel_pipeline(self) -> None:
        """Start nothing more of what was announced; see `Shell.cancel_pipeline`."""
        with self._busy:
            self._pipeline.forget_coming()
            if self._pipeline.waiting:
                self._leave(self._slot)
            if self._unsettled:
                self._recall_records()

    def close(self) -> None:
        """Release the runner; what still runs goes on, and nothing more starts."""
        with self._busy:
            if self._pipeline.waiting:
                self._leave(self._slot)
            self._slot.close()

    def _recall_records(self) -> None:
        cause: LostError | None = None
        for _ in range(_TRIES):
            try:
                self._slot.ready()
            except LostError as lost:
                cause = lost
            else:
                return
        raise self._lost(cause)

    def settle(self) -> None:
        """Let the host remove the output; see `workers.shells.ports.Shell.settle`."""
        for path in self._written:
            self._pool.settle(path)

    def erase(self) -> None:
        """Leave no output on the host; see `workers.shells.ports.Shell.erase`."""
        if self._record is None:
            return
        try:
            with self._pool.runner() as runner:
                runner.erase(self._record.name)
        except LostError as lost:
            raise self._lost(lost) from lost

    @contextmanager
    def _free_slot(self, *, waits: bool) -> Iterator[RunnerSlot]:
        if self._busy.acquire(blocking=waits):
            try:
                yield self._slot
            finally:
                self._busy.release()
            return
        slot = RunnerSlot(self._pool, self._open_temporary)
        try:
            yield slot
        finally:
            slot.close()

    def _masker_for(self, call: Call) -> Masker | None:
        return self._masker.for_values() if self._masker and call.parsed else self._masker

    def _until_done(
        self, slot: RunnerSlot, call: Call, deadline: Deadline, on_output: OnOutput | None
    ) -> CommandResult:
        cause: object = "its disk is full"
        for _ in range(_TRIES):
            try:
                result = self._try(slot, call, deadline, on_output)
            except LostError as lost:
                cause = lost
                self._leave(slot)
            except BaseException:
                # The runner may still be busy; the next command takes another one.
                self._leave(slot)
                raise
            else:
                if result is not None:
                    return result
        raise self._lost(cause)

    def _try(
        self, slot: RunnerSlot, call: Call, deadline: Deadline, on_output: OnOutput | None
    ) -> CommandResult | None:
        """The result; None if the command has to be tried again."""
        sent = self._sent_already(slot, call)
        runner = slot.ready()
        output = Output(on_output, self._stream_limit, self._masker_for(call))
        known = self._known.get(call.key or "")
        if known is not None:
            return self._attach(runner, known, call, deadline, output)
        if self._lost_records is not None and not call.is_look:
            unknown, self._lost_records = self._lost_records, None
            return result_of(call, datetime.now(UTC), output, unknown)
        started = datetime.now(UTC)
        deadline.restart()  # the time to reach the host does not count
        if slot is self._slot:
            # Opening the pass may have sent it.
            sent = sent or self._sent_already(slot, call)
            sent = sent or self._pipeline.send(runner, call)
        outcome = self._start(runner, call, deadline, output, sent)
        if isinstance(outcome, Refused):
            if outcome.why in (Refusal.UNCONTAINED, Refusal.BROKEN):
                self._contain(runner, anew=True)
                self._broken[call.command] += outcome.why is Refusal.BROKEN
                if self._broken[call.command] > 1:
                    return broken_containment(call, started)
            elif sent is None or outcome.why not in _TOO_EARLY:
                require_room(self._host, runner, outcome.why)
                slot.reopen()
            return None
        self._gather(runner, outcome, output)
        if outcome.reader is not None:
            self._pool.give_back(outcome.reader)
            self._leave(slot)
        return result_of(call, started, output, outcome)

    def _sent_already(self, slot: RunnerSlot, call: Call) -> Call | None:
        """The sent call that matches this one; if there is none, abandon the runner."""
        if slot is not self._slot or not self._pipeline.waiting:
            return None
        sent = self._pipeline.find_sent(call)
        if sent is None:
            self._leave(slot)
        return sent

    def _start(
        self, runner: Runner, call: Call, deadline: Deadline, output: Output, sent: Call | None
    ) -> WaitResult | Refused:
        until = runner.uptime(call.timeout + LATE_SECONDS)
        key = (sent or call).key or ""
        record = CommandRecord(key, runner.stem, None, until, call.label, call.command)
        if sent is None:
            runner.begin((call,), not_after=runner.uptime(self._valid_for()))
        try:
            outcome = self._waiter.own(runner, record, deadline, output, more=sent is not None)
        except (LostError, ReplanError):
            raise
        except BaseException:
            # The caller's callback failed: nobody waits for the command any more.
            self._waiter.abandon(runner, record)
            raise
        if sent is not None:
            self._advance(runner, outcome)
        return outcome

    def _advance(self, runner: Runner, outcome: WaitResult | Refused) -> None:
        """Go on to the next sent call, or abandon the runner if it starts nothing more."""
        if isinstance(outcome, Refused):
            self._pipeline.take_answer(runner, outcome)
        elif outcome.stop is Stop.EXITED and outcome.ended is not None:
            self._pipeline.take_answer(runner, outcome.ended)
            self._pipeline.refill(runner)
        else:
            self._leave(self._slot)

    def _gather(self, runner: Runner, outcome: WaitResult, output: Output) -> None:
        if outcome.ended is None:
            return
        self._note_output(runner.stem, outcome.ended)
        if outcome.reader is None and not outcome.ended.whole and self._pipeline.waiting:
            with self._pool.runner() as second:
                output.gather(second, runner.stem, outcome.ended)
            return
        output.gather(outcome.reader or runner, runner.stem, outcome.ended)

    def _note_output(self, stem: str, ended: Ended) -> None:
        """Remember that the host has output of the pass."""
        if ended.number is not None and self._record is not None:
            self._written.add(stem.rsplit(".", 2)[0])

    def _leave(self, slot: RunnerSlot) -> None:
        """Abandon the runner; the next one recalls the sent commands that it has started."""
        slot.drop()
        if slot is self._slot:
            self._unsettled = self._unsettled or self._pipeline.waiting
            self._pipeline.forget()

    def _valid_for(self) -> float:
        return _FOREVER if self._record is None else self._record.valid_for()

    def _attach(
        self, runner: Runner, known: StartedCommand, call: Call, deadline: Deadline, output: Output
    ) -> CommandResult:
        left = remaining(runner, known.record)
        deadline.shorten(left)
        elapsed = max(0.0, call.timeout - left - _ROUNDING)
        started = datetime.now(UTC) - timedelta(seconds=elapsed)
        outcome = self._waiter.other(runner, known, deadline, output)
        if outcome.ended is not None:
            self._note_output(known.record.stem, outcome.ended)
            output.gather(runner, known.record.stem, outcome.ended)
        return result_of(call, started, output, outcome)

    def _contain(self, runner: Runner, *, anew: bool = False) -> None:
        """Make the containment of a runner for the calls to come, if there are contained ones."""
        if self._hidden is None or (runner.contained == (self._hidden, self._folder) and not anew):
            return
        made = runner.contain(self._hidden, self._folder)
        if not made.is_there:
            raise transient(
                self._host,
                f"its containment could not be made again ({made.missing}: {made.said})",
                stage="execute",
            )

    def _open_pass(self, runner: Runner) -> None:
        self._contain(runner)
        if self._record is None:
            raise AssertionError("no pass to open")
        self._opened += 1
        first = self._opened == 1 and not self._record.resumed
        then, not_after = self._pipeline.first(runner) if first else ((), 0)
        record, settled = self._record, self._pool.take_settled()
        stem = stem_of(stem_text(record.name, record.fence, self._opened, record.claim))
        found = runner.open(
            stem.text, then, workdir=self._host.workdir, not_after=not_after, settled=settled
        )
        others = tuple(map(stem_of, found))
        if others:
            self._pipeline.take_skips(runner)
        stems = self._sort(stem, others)
        self._known |= take_over(runner, stems)
        self._unsettled = False
        if self._record.resumed or self._opened > 1:
            age = self._record.since + monotonic() - self._begun
            if runner.uptime() < age:
                self._lost_records = RESTARTED
            elif self._record.resumed and age > KEPT_SECONDS and not (stems.ours or stems.adopted):
                self._lost_records = REMOVED

    def _sort(self, own: Stem, others: tuple[Stem, ...]) -> Stems:
        """Sort the other stems; the claims are read only if one may be unknown.

        Known claims stay known, so a lost connection to the host asks nothing of the database.
        """
        known = {"", own.claim, *self._claims.tokens}
        if self._record is not None and any(stem.claim not in known for stem in others):
            self._claims = self._record.claims()
        return sort_stems(own, others, self._claims)

    def _open_temporary(self, runner: Runner) -> None:
        self._contain(runner)
        runner.open(f"{LOOK}s/{secrets.token_hex(6)}.0.0", workdir=self._host.workdir)

    def _given_up(self) -> bool:
        return self._record is not None and self._record.given_up()

    def _lost(self, cause: object) -> ReplanError:
        return transient(
            self._host,
            f"the connection was lost again and again ({cause}); commands may still run there",
            stage="execute",
        )
