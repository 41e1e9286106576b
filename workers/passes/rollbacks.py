"""Carrying out the rollbacks that a revision wants, before anything of it begins (S0.56)."""

from dataclasses import replace
from functools import partial

from shared.domain.approval import Part
from shared.domain.attempt import GREEN, Attempt, EndedBy, Outcome
from shared.domain.budget import Ending
from shared.domain.config import PLAN
from shared.domain.errors import Rejected
from shared.domain.ids import rollback_key
from shared.domain.verdict import Verdict
from workers.passes.clock import Clock
from workers.passes.history import History
from workers.passes.outcomes import outcome_of
from workers.passes.ports import PassLog, PassOrder, PassResult, Unapproved, Undo
from workers.shells.approval_gate import unconfirmed
from workers.shells.door import Door
from workers.shells.labels import label
from workers.shells.ports import Call

_STOPS = {
    Outcome.DENIED: Ending.BLOCKED,
    Outcome.NEEDS_APPROVAL: Ending.NEEDS_APPROVAL,
    Outcome.CANCELLED: Ending.CANCELLED,
    Outcome.UNKNOWN: Ending.UNKNOWN,
}


class Rollbacks:
    """Undoes what a pass is to undo; every rollback is an attempt of its own kind, no error.

    Its key is the same for whoever drives the pass, so none is started twice. One that the guard
    forbids is never started and blocks the step, one that fails waits for a person: nothing of the
    revision begins on a host that is not as its planner wants it.
    """

    def __init__(
        self, order: PassOrder, history: History, door: Door, log: PassLog, clock: Clock
    ) -> None:
        self._order = order
        self._history = history
        self._door = door
        self._log = log
        self._clock = clock

    def carry_out(self) -> PassResult | None:
        """Undo all of it; how the pass ends where that is not possible, None when it goes on."""
        for number, undo in enumerate(self._order.undo):
            if self._log.cancelled() and not self._under_way(undo):
                return PassResult(Ending.CANCELLED, self._history.errors, "cancelled")
            attempt = self._undo(undo)
            self._history.note_rollback(attempt)
            if attempt.outcome not in GREEN:
                return self._stop(attempt, self._order.undo[number:])
        return None

    def _undo(self, undo: Undo) -> Attempt:
        draft = self._draft(undo)
        command = undo.subtask.command
        if self._door.recalled(draft.key) is None:
            verdict = self._door.clear(
                undo.subtask.ordinal, command, draft.key, unconfirmed=self._unconfirmed(undo)
            )
            if not verdict.allowed:
                return self._refused(draft, verdict)
        self._log.started(draft)
        try:
            result = self._door.run(
                Call(command, undo.subtask.timeout, key=draft.key, label=label(None, command)),
                on_output=partial(self._log.output, draft.key),
                cancelled=partial(self._log.unwanted, draft.key),
            )
        except Rejected as error:  # no host can take it
            return self._finish(replace(draft, reason=f"it could not be run: {error.reason}"))
        outcome, reason = outcome_of(result, None)
        if result.cancelled and not self._log.withdrawn() and self._log.unwanted(draft.key):
            outcome, reason = Outcome.FAILED, "ended by an operator"
            result = replace(result, ended_by=EndedBy.OPERATOR)
        started = min(draft.started_at, result.started_at)
        return self._finish(
            replace(draft, outcome=outcome, reason=reason, result=result, started_at=started)
        )

    def _draft(self, undo: Undo) -> Attempt:
        order, now, ordinal = self._order, self._clock.now(), undo.subtask.ordinal
        key = rollback_key(order.run_id, order.step.ordinal, undo.revision, ordinal, order.pass_no)
        known = next((a.number for a in order.earlier if a.key == key), None)
        return Attempt(
            key=key,
            run_id=order.run_id,
            step=order.step.ordinal,
            revision=undo.revision,
            subtask=ordinal,
            pass_no=order.pass_no,
            try_no=0,
            number=known or self._history.next_number(ordinal),
            command=undo.subtask.command,
            outcome=Outcome.FAILED,
            started_at=now,
            ended_at=now,
            rollback=True,
        )

    def _refused(self, draft: Attempt, verdict: Verdict) -> Attempt:
        return self._finish(
            replace(
                draft,
                outcome=Outcome.DENIED if verdict.denied else Outcome.NEEDS_APPROVAL,
                reason=f"rollback: {verdict.reason}",
                rule=verdict.rule or None,
            )
        )

    def _finish(self, attempt: Attempt) -> Attempt:
        ended = replace(attempt, ended_at=self._clock.now())
        self._log.finished(ended)
        return ended

    def _stop(self, attempt: Attempt, left: tuple[Undo, ...]) -> PassResult:
        order, errors = self._order, self._history.errors
        place = f"{order.task_ref}.{order.step.ordinal}.{attempt.subtask}"
        reason = attempt.reason.removeprefix("rollback: ")
        what = f"rollback of {place} (revision {attempt.revision}): {reason}"
        ending = _STOPS.get(attempt.outcome, Ending.ROLLBACK_FAILED)
        if ending is Ending.NEEDS_APPROVAL:
            return PassResult(ending, errors, what, self._unapproved(left))
        return PassResult(ending, errors, what)

    def _unapproved(self, left: tuple[Undo, ...]) -> tuple[Unapproved, ...]:
        """What a person is asked to approve: one at a time, or all of it where plans are."""
        asked = left if self._order.policy.autonomy == PLAN else left[:1]
        found = [(undo, self._verdict_without_approval(undo)) for undo in asked]
        return tuple(
            Unapproved(undo.subtask.ordinal, Part.ROLLBACK, undo.subtask.command, verdict)
            for undo, verdict in found
            if verdict is not None
        )

    def _verdict_without_approval(self, undo: Undo) -> Verdict | None:
        subtask = undo.subtask
        return self._door.unapproved(
            subtask.ordinal, subtask.command, unconfirmed=self._unconfirmed(undo)
        )

    def _unconfirmed(self, undo: Undo) -> Verdict | None:
        return unconfirmed(undo.subtask, self._order.policy)

    def _under_way(self, undo: Undo) -> bool:
        """Whether an earlier driver has started it, and its end is to be waited for."""
        return self._log.withdrawn() and self._door.recalled(self._draft(undo).key) is not None
