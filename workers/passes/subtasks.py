"""One subtask in a pass: its check, its preconditions, its command, and the corrections of it."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import count

from shared.domain.attempt import Attempt, CommandResult, EndedBy, Outcome
from shared.domain.budget import may_correct
from shared.domain.errors import Rejected
from shared.domain.plan import Subtask, SubtaskKind
from shared.domain.snippet import text_of
from workers.passes.clock import Clock, wait_unless
from workers.passes.history import History, is_red
from workers.passes.outcomes import how_it_ended, how_it_was_ended, outcome_of
from workers.passes.ports import PassLog, PassOrder
from workers.passes.recorder import Recorder
from workers.shells.approval_gate import Clearance
from workers.shells.checks import run_check
from workers.shells.corrections.correction import Failure, Proposal
from workers.shells.corrections.table import HELD, choose
from workers.shells.door import Door, HostProbe
from workers.shells.labels import label, read_label
from workers.shells.pipeline import Foresight
from workers.shells.ports import Call, Recalled
from workers.shells.snippet_outcomes import of_code

_CORRECTABLE = frozenset({Outcome.FAILED, Outcome.CHECK_FAILED})
_READ_AT_MOST = 65_536
"""Bytes of each stream, from its end, that the corrections read."""
_POLL = (1.0, 2.0, 4.0)

_UNKNOWN_AT_MOST = 3
"""After so many attempts of a subtask with unknown outcome in a pass, a person is asked."""


class Trials:
    """Tries the subtasks of one pass, recording every attempt."""

    def __init__(
        self,
        order: PassOrder,
        door: Door,
        log: PassLog,
        clock: Clock,
        *,
        settle: tuple[float, ...],
    ) -> None:
        self.history = History(order)
        self._recorder = Recorder(order, self.history, log, clock)
        self.clearance = Clearance(door, self._recorder, order.policy)
        self._policy = order.policy
        self._door = door
        self._probe = HostProbe(door, min(10.0, order.policy.check_timeout))
        self._log = log
        self._clock = clock
        self._settle = settle
        self._foresight = Foresight(
            door,
            self.history,
            self._recorder,
            self.clearance,
            check_timeout=order.policy.check_timeout,
        )

    def look_ahead(self, subtasks: Iterable[Subtask], done: Collection[str]) -> None:
        """Have the host told what comes next; `done` are the keys of what is done."""
        self._foresight.look_ahead(subtasks, done)

    def under_way(self, subtask: Subtask) -> bool:
        """Whether its next attempt was started, though nobody has asked for it yet.

        False where another driver will see to that.
        """
        if self._log.cancelled() and not self._log.withdrawn():
            return False
        self._door.cancel_pipeline()
        return self._recalled(subtask) is not None

    def carry_out(self, subtask: Subtask) -> Attempt:
        """Try a subtask until it is green or nothing is left to try; the attempt that settled it.

        Attempts of this same pass that were recorded before are not repeated.
        """
        attempt = self.history.last(subtask.ordinal) or self._first(subtask)
        command = attempt.command
        while True:
            recalled = self._recalled(subtask)
            if recalled is not None:
                correction, command = read_label(recalled.label)
                attempt = self._run(subtask, recalled.command, correction, planned=command)
                continue
            if self._may_repeat(subtask, attempt):
                again, correction = attempt.command, attempt.correction
                attempt = self._uncleared(subtask, again) or self._run(
                    subtask, again, correction, planned=command
                )
                continue
            if not self._is_correctable(subtask, attempt):
                break
            found = choose(
                _failure(subtask, attempt.result, attempt.check, command),
                self._probe,
                used=self.history.used(subtask.ordinal),
                tried=self.history.tried(subtask.ordinal),
            )
            if found is None or not self._is_time_for(found[1]):
                break
            rule, proposal = found
            verdict = self._door.verdict(proposal.text)
            if not verdict.allowed:
                refused = self._recorder.refused(
                    subtask, proposal.text, "correction", verdict, rule.name
                )
                if refused.outcome is Outcome.DENIED:
                    return refused
                continue
            command = proposal.command
            attempt = self._run(
                subtask, proposal.text, rule.name, planned=command, allowance=proposal.allowance
            )
        return attempt

    def block(self, subtask: Subtask, missing: list[str]) -> Attempt:
        """Pass over a subtask whose needs are not met (X3): recorded once, not counted."""
        known = self.history.last(subtask.ordinal)
        if known is not None and known.outcome is Outcome.BLOCKED:
            return known
        reason = f"needs {', '.join(missing)}, which is not done"
        return self._recorder.unrun(subtask, text_of(subtask), Outcome.BLOCKED, reason)

    def _first(self, subtask: Subtask) -> Attempt:
        """The command as planned, unless its check is green already (S0.87)."""
        recalled = self._recalled(subtask)
        if recalled is not None:
            return self._run(subtask, recalled.command)
        red = False
        if subtask.check is not None:
            look = self._first_look(subtask, subtask.check)
            if isinstance(look, Attempt):
                return look
            red = is_red(look)
        stopped = self._unmet(subtask) or self._uncleared(subtask, text_of(subtask))
        return stopped or self._run(subtask, text_of(subtask), seen_red=red)

    def _first_look(self, subtask: Subtask, check: str) -> CommandResult | Attempt:
        """What the check says before anything runs; an attempt where that settles the subtask."""
        verdict = self.clearance.look(subtask, check)
        if not verdict.allowed:
            return self._recorder.refused(subtask, check, "check", verdict)
        look = self._look(subtask, check)
        self._foresight.satisfied = look.ok
        if look.ok:
            return self._satisfied(subtask, look)
        return self._cancelled(subtask) if look.cancelled else look

    def _unmet(self, subtask: Subtask) -> Attempt | None:
        """The attempt that a precondition brings to its end; None when all are met."""
        for precondition in subtask.preconditions:
            verdict = self.clearance.look(subtask, precondition)
            if not verdict.allowed:
                return self._recorder.refused(subtask, precondition, "precondition", verdict)
            look = self._look(subtask, precondition)
            if look.cancelled:
                return self._cancelled(subtask)
            if not look.ok:
                reason = f"precondition not met: {precondition} ({how_it_ended(look)})"
                return self._recorder.unrun(
                    subtask, text_of(subtask), Outcome.PRECONDITION_UNMET, reason, check=look
                )
        return None

    def _uncleared(self, subtask: Subtask, command: str) -> Attempt | None:
        """The attempt of a command that may not run as it is; None when it may."""
        verdict = self.clearance.command(subtask, command)
        if verdict.allowed:
            return None
        return self._recorder.refused(subtask, command, "command", verdict)

    def _run(
        self,
        subtask: Subtask,
        command: str,
        correction: str | None = None,
        *,
        planned: str | None = None,
        allowance: float = 0.0,
        seen_red: bool = False,
    ) -> Attempt:
        """Run a command that the guard allows, look at its check, record the attempt.

        `planned` is the command of which it is a correction.
        """
        draft = self._recorder.draft(subtask, command, Outcome.FAILED, correction=correction)
        self._log.started(draft)
        call = Call(
            command,
            subtask.timeout + allowance,
            key=draft.key,
            label=label(correction, planned or command),
        )
        once = partial(
            self._door.run,
            on_output=partial(self._log.output, draft.key),
            cancelled=partial(self._log.unwanted, draft.key),
        )
        try:
            result = once(call)
        except Rejected as error:  # no host can take it: the planner's error, so it counts
            reason = f"it could not be run: {error.reason}"
            return self._recorder.finish(replace(draft, reason=reason, ended_at=self._clock.now()))
        if result.exit_code and self._may_change(subtask):
            result, held = self._while_held(subtask, result, call, once)
            if held is not None:
                draft = replace(draft, command=result.command, correction=correction or held)
        # Of what an earlier driver started, the beginning was then.
        draft = replace(draft, started_at=min(draft.started_at, result.started_at))
        if result.cancelled and not self._log.withdrawn() and self._log.unwanted(draft.key):
            return self._recorder.finish(_ended_by_operator(draft, result, self._clock.now()))
        check = self._checked(subtask, result)
        outcome, reason = outcome_of(result, check)
        if subtask.kind is SubtaskKind.CODE:
            outcome, reason = of_code(subtask, result, outcome, reason)
        proven = seen_red or is_red(check) or self.history.seen_red(subtask.ordinal)
        return self._recorder.finish(
            replace(
                draft,
                outcome=outcome,
                reason=reason,
                ended_at=self._clock.now(),
                result=result,
                check=check,
                never_red=check is not None and not proven,
            )
        )

    def _checked(self, subtask: Subtask, result: CommandResult) -> CommandResult | None:
        """The check after a command: patiently when it went well, one look when it did not."""
        if subtask.check is None or result.cancelled:
            return None
        self.clearance.look_back(subtask, subtask.check)
        return run_check(
            subtask.check,
            self._door,
            self._clock,
            key=self._recorder.look_key(subtask),
            timeout=self._policy.check_timeout,
            settle=self._settle if result.ok else (),
        )

    def _while_held(
        self,
        subtask: Subtask,
        result: CommandResult,
        call: Call,
        once: Callable[..., CommandResult],
    ) -> tuple[CommandResult, str | None]:
        """Wait for what somebody else holds, and repeat: the attempt goes on, nothing is counted.

        The last result, and the name of the rule that waited.
        """
        waited, name = 0.0, None
        for repetition in count(1):
            if not result.exit_code:
                break
            failure = _failure(subtask, result, None, result.command, waited)
            found = choose(failure, self._probe, rules=HELD)
            if found is None or not self._door.verdict(found[1].text).allowed:
                break
            rule, proposal = found
            if not wait_unless(self._door.cancelled, self._clock, proposal.pause):
                return replace(result, ended_by=EndedBy.CANCEL), name
            waited, name = waited + proposal.pause, rule.name
            again = replace(
                call,
                command=proposal.text,
                timeout=call.timeout + proposal.allowance,
                key=f"{call.key}.{repetition}",
            )
            result = once(again)
        return result, name

    def _recalled(self, subtask: Subtask) -> Recalled | None:
        """The next attempt, where an earlier driver of this pass has started it already."""
        return self._door.recalled(self._recorder.next_key(subtask))

    def _may_repeat(self, subtask: Subtask, attempt: Attempt) -> bool:
        """Whether what nobody knows the outcome of may simply run again.

        It may where it is declared idempotent, or its check has just said that it is not done.
        """
        return (
            attempt.outcome is Outcome.UNKNOWN
            and (subtask.idempotent or is_red(attempt.check))
            and not self.clearance.confirmed(subtask)
            and self.history.unknown(subtask.ordinal) < _UNKNOWN_AT_MOST
            and not self._log.cancelled()
        )

    def _is_correctable(self, subtask: Subtask, attempt: Attempt) -> bool:
        tries = self.history.corrected(subtask.ordinal)
        return (
            attempt.outcome in _CORRECTABLE
            and attempt.ended_by is not EndedBy.OPERATOR
            and attempt.result is not None
            and self._may_change(subtask)
            and may_correct(tries, self.history.errors, self._policy)
            and not self._log.cancelled()
        )

    def _may_change(self, subtask: Subtask) -> bool:
        """What a person confirmed runs as it is or not at all; a snippet is no shell."""
        return (
            self._policy.auto_correction_enabled
            and not self.clearance.confirmed(subtask)
            and subtask.kind is SubtaskKind.COMMAND
        )

    def _is_time_for(self, proposal: Proposal) -> bool:
        """Wait as a proposal asks; False when what it waits for does not come, or it is cancelled.

        A condition that the guard does not let us look at is taken as met.
        """
        if not wait_unless(self._door.cancelled, self._clock, proposal.pause):
            return False
        if proposal.until is None or not self._door.verdict(proposal.until).allowed:
            return True
        waited = 0.0
        while not self._probe.holds(proposal.until):
            pause = next((p for p in _POLL if p > waited), _POLL[-1])
            if waited + pause > proposal.patience:
                return False
            if not wait_unless(self._door.cancelled, self._clock, pause):
                return False
            waited += pause
        return True

    def _look(self, subtask: Subtask, text: str) -> CommandResult:
        key = self._recorder.look_key(subtask)
        return self._door.look(Call(text, self._policy.check_timeout, key=key))

    def _cancelled(self, subtask: Subtask) -> Attempt:
        return self._recorder.unrun(subtask, text_of(subtask), Outcome.CANCELLED, "cancelled")

    def _satisfied(self, subtask: Subtask, look: CommandResult) -> Attempt:
        return self._recorder.unrun(
            subtask,
            text_of(subtask),
            Outcome.SATISFIED,
            "its check was green before anything ran",
            check=look,
            never_red=not self.history.seen_red(subtask.ordinal),
        )


def _ended_by_operator(draft: Attempt, result: CommandResult, now: datetime) -> Attempt:
    return replace(
        draft,
        outcome=Outcome.FAILED,
        reason=how_it_was_ended("ended by an operator", result),
        ended_at=now,
        result=replace(result, ended_by=EndedBy.OPERATOR),
    )


def _failure(
    subtask: Subtask,
    result: CommandResult | None,
    check: CommandResult | None,
    command: str,
    waited: float = 0.0,
) -> Failure:
    return Failure(
        command=command,
        exit_code=result.exit_code if result else None,
        stdout=_tail(result.stdout) if result else "",
        stderr=_tail(result.stderr) if result else "",
        check=subtask.check,
        check_output=_tail(check.stderr + check.stdout) if check else "",
        waited=waited,
    )


def _tail(stream: bytes) -> str:
    return stream[-_READ_AT_MOST:].decode(errors="replace")
