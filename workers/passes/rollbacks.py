"""Carries out the rollbacks of a revision before anything else of it starts (S0.56)."""

from shared.domain.attempt import Attempt
from shared.domain.budget import Ending
from shared.domain.config import PLAN
from shared.domain.outcome import GREEN
from workers.passes.attempts import Attempts
from workers.passes.context import PassContext
from workers.passes.means import Try
from workers.passes.outcomes import STOPS
from workers.passes.ports import PassResult, Undo


class Rollbacks:
    """Carries out the rollbacks of a pass; each is an attempt of its own kind, not an error.

    Its key is the same for every driver of the pass, so no rollback starts twice. A rollback that
    the guard denies never starts, and blocks the step; one that fails waits for a person. Nothing
    of the revision starts on a target that is not in the state that its planner expects.
    """

    def __init__(self, context: PassContext) -> None:
        self._context = context
        self._attempts = Attempts(context)

    def carry_out(self) -> PassResult | None:
        """Carry out all rollbacks; how the pass ends if one fails, None if the pass goes on."""
        undo = self._context.order.undo
        for number, each in enumerate(undo):
            if self._context.log.cancelled() and not self._under_way(each):
                return PassResult(Ending.CANCELLED, self._context.history.errors, "cancelled")
            attempt, why = self._undo(each)
            if attempt.outcome not in GREEN:
                return self._stop(attempt, why, undo[number:])
        return None

    def _undo(self, undo: Undo) -> tuple[Attempt, str]:
        """The attempt, and why the step cannot go on unless it is green."""
        recalled = self._attempts.recall(undo)
        command = undo.subtask.command
        if recalled is None:
            verdict = self._context.gate.command(undo, command)
            if not verdict.allowed:
                refused = self._context.recorder.record_refusal(undo, command, "rollback", verdict)
                return refused, verdict.reason
        attempt = self._attempts.run(undo, recalled or Try(command))
        return attempt, attempt.reason

    def _stop(self, attempt: Attempt, why: str, left: tuple[Undo, ...]) -> PassResult:
        order, errors = self._context.order, self._context.history.errors
        place = f"{order.task_ref}.{order.step.ordinal}.{attempt.subtask}"
        what = f"rollback of {place} (revision {attempt.revision}): {why}"
        ending = STOPS.get(attempt.outcome, Ending.ROLLBACK_FAILED)
        if ending is not Ending.NEEDS_APPROVAL:
            return PassResult(ending, errors, what)
        # A person approves one rollback at a time, or all of them if plans are approved.
        asked = left if order.policy.autonomy == PLAN else left[:1]
        texts = (text for undo in asked for text in self._context.gate.texts_to_approve(undo))
        return PassResult(ending, errors, what, tuple(texts))

    def _under_way(self, undo: Undo) -> bool:
        """Whether an earlier driver has started it, so that the pass must wait for its end."""
        return self._context.log.withdrawn() and self._attempts.recall(undo) is not None
