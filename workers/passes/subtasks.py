"""One subtask in a pass: its check, its preconditions, its command, and the remedies for it."""

from collections.abc import Collection, Iterable

from shared.domain.attempt import Attempt, CommandResult, EndedBy
from shared.domain.budget import may_correct
from shared.domain.outcome import GREEN, Outcome
from shared.domain.plan import SubtaskKind
from shared.secrets.sent import SentSubtask
from workers.passes.attempts import Attempts
from workers.passes.context import PassContext
from workers.passes.history import is_red
from workers.passes.means import Try
from workers.passes.outcomes import describe_end
from workers.passes.pipeline import Announcer

_CORRECTABLE = frozenset({Outcome.FAILED, Outcome.CHECK_FAILED, Outcome.TIMED_OUT})

_UNKNOWN_AT_MOST = 3
"""After so many attempts of a subtask with unknown outcome in one pass, a person decides."""


class Tries:
    """Tries the subtasks of one pass, recording every attempt."""

    def __init__(self, context: PassContext, *, settle: tuple[float, ...]) -> None:
        self._context = context
        self._attempts = Attempts(context, settle)
        self._announcer = Announcer(context)

    def announce(self, subtasks: Iterable[SentSubtask], done: Collection[str]) -> None:
        """Announce to the means what comes next; `done` holds the keys of finished subtasks."""
        self._announcer.announce(subtasks, done)

    def under_way(self, subtask: SentSubtask) -> bool:
        """Whether its next attempt has already started, before the pass asked for it.

        False if another driver will take care of it.
        """
        log = self._context.log
        if log.cancelled() and not log.withdrawn():
            return False
        self._context.means.cancel_pipeline()
        return self._attempts.recall(subtask) is not None

    def carry_out(self, subtask: SentSubtask) -> Attempt:
        """Try a subtask until it is green or nothing is left to try; return the last attempt.

        Recorded attempts of this pass are not repeated.
        """
        attempt = self._context.history.last(subtask.ordinal) or self._first_attempt(subtask)
        planned = attempt.command
        while True:
            recalled = self._attempts.recall(subtask)
            if recalled is not None:
                planned = recalled.source
                attempt = self._run(subtask, recalled)
                continue
            if self._may_repeat(subtask, attempt):
                again = Try(attempt.command, attempt.correction, planned)
                attempt = self._refusal(subtask, again.command) or self._run(subtask, again)
                continue
            remedy = self._remedy(subtask, attempt, planned)
            if remedy is None:
                return attempt
            planned_keys = self._context.history.planned_keys(subtask.ordinal)
            verdict = self._context.gate.remedy(subtask, remedy.command, planned_keys)
            if verdict.allowed:
                planned = remedy.source
                attempt = self._run(subtask, remedy)
                continue
            refused = self._context.recorder.record_refusal(
                subtask, remedy.command, "correction", verdict, remedy.remedy
            )
            if refused.outcome is Outcome.DENIED:
                return refused

    def block(self, subtask: SentSubtask, missing: list[str]) -> Attempt:
        """Skip a subtask whose needs are not met (X3): recorded once, not counted."""
        known = self._context.history.last(subtask.ordinal)
        if known is not None and known.outcome is Outcome.BLOCKED:
            return known
        return self._record_not_run(
            subtask, Outcome.BLOCKED, f"needs {', '.join(missing)}, which is not done"
        )

    def _first_attempt(self, subtask: SentSubtask) -> Attempt:
        """Run the command as planned, unless its check is already green (S0.87).

        A check that settles nothing is not looked at before the command.
        """
        recalled = self._attempts.recall(subtask)
        if recalled is not None:
            return self._run(subtask, recalled)
        red = False
        if subtask.check is not None and not self._context.means.settles(subtask.check):
            refused = self._check_refusal(subtask, subtask.check)
            if refused is not None:
                return refused
        elif subtask.check is not None:
            look = self._first_look(subtask, subtask.check)
            if isinstance(look, Attempt):
                return look
            red = is_red(look)
        stopped = self._unmet_precondition(subtask) or self._refusal(subtask, subtask.command)
        return stopped or self._run(subtask, Try(subtask.command), seen_red=red)

    def _first_look(self, subtask: SentSubtask, check: str) -> CommandResult | Attempt:
        """The check before anything runs; an attempt, if that settles the subtask."""
        refused = self._check_refusal(subtask, check)
        if refused is not None:
            return refused
        look = self._look(subtask, check)
        done = look.ok and not self._is_to_redo(subtask, look)
        self._announcer.satisfied = done
        if done:
            return self._record_satisfied(subtask, look)
        return self._record_cancelled(subtask) if look.cancelled else look

    def _is_to_redo(self, subtask: SentSubtask, look: CommandResult) -> bool:
        """Whether a green check does not make it done."""
        sent_back = self._context.history.is_sent_back(subtask.ordinal)
        return sent_back or self._was_refused(subtask, look)

    def _was_refused(self, subtask: SentSubtask, look: CommandResult) -> bool:
        """Whether the last try failed although this check was green after it, and still would.

        What was wrong with it then, no check of the work can tell: it is tried again (S4.44).
        """
        last = self._context.history.last_with(look.command)
        if last is None or last.result is None or last.outcome in GREEN:
            return False
        if last.check is None or not last.check.ok:
            return False
        outcome, _ = self._context.means.outcome(subtask, last.result, look)
        return outcome not in GREEN

    def _check_refusal(self, subtask: SentSubtask, check: str) -> Attempt | None:
        """The attempt of a subtask whose check may not run; None if it may."""
        verdict = self._context.gate.look(subtask, check)
        if verdict.allowed:
            return None
        return self._context.recorder.record_refusal(subtask, check, "check", verdict)

    def _unmet_precondition(self, subtask: SentSubtask) -> Attempt | None:
        """The attempt that an unmet precondition ends; None if all are met."""
        for precondition in subtask.preconditions:
            verdict = self._context.gate.look(subtask, precondition)
            if not verdict.allowed:
                return self._context.recorder.record_refusal(
                    subtask, precondition, "precondition", verdict
                )
            look = self._look(subtask, precondition)
            if look.cancelled:
                return self._record_cancelled(subtask)
            if not look.ok:
                reason = f"precondition not met: {precondition} ({describe_end(look)})"
                return self._record_not_run(subtask, Outcome.PRECONDITION_UNMET, reason, check=look)
        return None

    def _refusal(self, subtask: SentSubtask, command: str) -> Attempt | None:
        """The attempt of a command that may not run; None if it may."""
        continued = self._context.history.continued_keys(subtask.ordinal)
        verdict = self._context.gate.command(subtask, command, continued)
        if verdict.allowed:
            return None
        return self._context.recorder.record_refusal(subtask, command, "command", verdict)

    def _run(self, subtask: SentSubtask, this: Try, *, seen_red: bool = False) -> Attempt:
        may_change = self._may_change(subtask)
        return self._attempts.run(subtask, this, may_change=may_change, seen_red=seen_red)

    def _may_repeat(self, subtask: SentSubtask, attempt: Attempt) -> bool:
        """Whether a command with an unknown outcome may simply run again.

        It may if it is declared idempotent, or if its check has just shown that it is not done.
        """
        return (
            attempt.outcome is Outcome.UNKNOWN
            and (subtask.idempotent or is_red(attempt.check))
            and not self._context.gate.needs_confirmation(subtask)
            and self._context.history.unknown_count(subtask.ordinal) < _UNKNOWN_AT_MOST
            and not self._context.log.cancelled()
        )

    def _remedy(self, subtask: SentSubtask, attempt: Attempt, planned: str) -> Try | None:
        """The remedy of the means for a failed attempt, if one is allowed.

        One that was refused does not come back: a refusal counts for nothing else, so that the
        tries would never end.
        """
        history, number = self._context.history, subtask.ordinal
        if (
            attempt.outcome not in _CORRECTABLE
            or attempt.ended_by is EndedBy.OPERATOR
            or attempt.result is None
            or not self._may_remedy(subtask)
            or not may_correct(
                history.correction_count(number), history.errors, self._context.order.policy
            )
            or self._context.log.cancelled()
        ):
            return None
        found = self._context.means.remedy(
            subtask,
            attempt,
            planned,
            used=history.used_corrections(number),
            tried=history.tried_commands(number),
        )
        return None if found is None or found.remedy in history.refused_remedies(number) else found

    def _may_remedy(self, subtask: SentSubtask) -> bool:
        """Whether anything may be tried after it failed.

        A confirmed goal was confirmed with all its runners; the gate lets only that goal through.
        """
        return subtask.kind is SubtaskKind.AGENT or self._may_change(subtask)

    def _may_change(self, subtask: SentSubtask) -> bool:
        """Whether another command may replace it; a confirmed command runs as it is."""
        return (
            self._context.order.policy.auto_correction_enabled
            and not self._context.gate.needs_confirmation(subtask)
        )

    def _look(self, subtask: SentSubtask, text: str) -> CommandResult:
        context = self._context
        timeout = context.order.policy.check_timeout
        return context.means.look(text, timeout=timeout, key=context.recorder.look_key(subtask))

    def _record_cancelled(self, subtask: SentSubtask) -> Attempt:
        return self._record_not_run(subtask, Outcome.CANCELLED, "cancelled")

    def _record_satisfied(self, subtask: SentSubtask, look: CommandResult) -> Attempt:
        return self._record_not_run(
            subtask,
            Outcome.SATISFIED,
            "its check was green before anything ran",
            check=look,
            never_red=not self._context.history.seen_red(subtask.ordinal),
        )

    def _record_not_run(
        self,
        subtask: SentSubtask,
        outcome: Outcome,
        reason: str,
        *,
        check: CommandResult | None = None,
        never_red: bool = False,
    ) -> Attempt:
        return self._context.recorder.record_not_run(
            subtask, subtask.command, outcome, reason, check=check, never_red=never_red
        )
