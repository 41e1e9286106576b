"""Records the attempts of a pass with their keys, numbers and times."""

from dataclasses import replace

from shared.domain.attempt import Attempt, CommandResult
from shared.domain.ids import attempt_key, look_key, rollback_key
from shared.domain.outcome import Outcome
from shared.domain.prediction import Prediction
from shared.domain.preview import Preview
from shared.domain.verdict import Verdict
from shared.secrets.sent import SentSubtask
from workers.passes.clock import Clock
from workers.passes.history import History
from workers.passes.ports import Granted, PassLog, PassOrder, Undo


def subtask_of(work: SentSubtask | Undo) -> SentSubtask:
    """The subtask to run: the subtask itself, or the rollback of an earlier one."""
    return work.subtask if isinstance(work, Undo) else work


class Recorder:
    """Makes the attempts of one pass, and passes each finished one to the history and the log."""

    def __init__(self, order: PassOrder, history: History, log: PassLog, clock: Clock) -> None:
        self._order = order
        self._history = history
        self._log = log
        self._clock = clock
        self._granted: dict[str, Granted] = {}

    def granted(self, key: str, granted: Granted) -> None:
        """Record with the attempt of that key what lets it run."""
        self._granted[key] = granted

    def draft(
        self,
        work: SentSubtask | Undo,
        command: str,
        outcome: Outcome,
        correction: str | None = None,
    ) -> Attempt:
        """An attempt that starts now; a later driver of this pass makes the same key."""
        order, now = self._order, self._clock.now()
        number = subtask_of(work).ordinal
        undoes = isinstance(work, Undo)
        key = self.next_key(work)
        granted = self._granted.get(key, Granted())
        return Attempt(
            key=key,
            run_id=order.run_id,
            step=order.step.ordinal,
            revision=work.revision if isinstance(work, Undo) else order.revision,
            subtask=number,
            pass_no=order.pass_no,
            try_no=0 if undoes else self._history.next_try(number),
            number=self._known_number(key) or self._history.next_number(number),
            command=command,
            outcome=outcome,
            started_at=now,
            ended_at=now,
            correction=correction,
            rule=granted.rule or None,
            rollback=undoes,
            preview=granted.preview,
        )

    def next_key(self, work: SentSubtask | Undo) -> str:
        """The key of the attempt that `draft` would make."""
        order = self._order
        run, step = order.run_id, order.step.ordinal
        if isinstance(work, Undo):
            return rollback_key(run, step, work.revision, work.subtask.ordinal, order.pass_no)
        try_no = self._history.next_try(work.ordinal)
        return attempt_key(run, step, order.revision, work.ordinal, order.pass_no, try_no)

    def look_key(self, subtask: SentSubtask) -> str:
        """The key of all looks at a subtask in this pass: its check and its preconditions."""
        order = self._order
        step = order.step.ordinal
        return look_key(order.run_id, step, order.revision, subtask.ordinal, order.pass_no)

    def finish(self, attempt: Attempt) -> Attempt:
        """Record an attempt that has ended."""
        self._history.add(attempt)
        self._log.finished(attempt)
        return attempt

    def record_not_run(
        self,
        work: SentSubtask | Undo,
        command: str,
        outcome: Outcome,
        reason: str,
        *,
        rule: str | None = None,
        check: CommandResult | None = None,
        correction: str | None = None,
        never_red: bool = False,
        prediction: Prediction | None = None,
        preview: Preview | None = None,
    ) -> Attempt:
        """Record an attempt whose command did not run; `check` is the look that decided that."""
        draft = self.draft(work, command, outcome, correction)
        return self.finish(
            replace(
                draft,
                reason=reason,
                rule=rule,
                check=check,
                never_red=never_red,
                prediction=prediction,
                preview=preview,
            )
        )

    def record_refusal(
        self,
        work: SentSubtask | Undo,
        text: str,
        what: str,
        verdict: Verdict,
        correction: str | None = None,
    ) -> Attempt:
        """Record a text that the guard did not allow, byte for byte (S0.86)."""
        return self.record_not_run(
            work,
            text,
            Outcome.DENIED if verdict.denied else Outcome.NEEDS_APPROVAL,
            f"{what}: {verdict.reason}",
            rule=verdict.rule or None,
            correction=correction,
        )

    def _known_number(self, key: str) -> int | None:
        """The number that the attempt already has, if an earlier driver started that rollback."""
        return next((a.number for a in self._order.earlier if a.key == key), None)
