"""Recording the attempts of a pass: their keys, numbers and times."""

from dataclasses import replace

from shared.domain.attempt import Attempt, CommandResult, Outcome
from shared.domain.ids import attempt_key, look_key
from shared.domain.plan import Subtask
from shared.domain.prediction import Prediction
from shared.domain.verdict import Verdict
from workers.passes.clock import Clock
from workers.passes.history import History
from workers.passes.ports import PassLog, PassOrder


class Recorder:
    """Makes the attempts of one pass, and gives each finished one to the history and the log."""

    def __init__(self, order: PassOrder, history: History, log: PassLog, clock: Clock) -> None:
        self._order = order
        self._history = history
        self._log = log
        self._clock = clock

    def draft(
        self, subtask: Subtask, command: str, outcome: Outcome, correction: str | None = None
    ) -> Attempt:
        """An attempt that begins now; whoever resumes this pass makes the same key."""
        order, now = self._order, self._clock.now()
        step, number = order.step.ordinal, subtask.ordinal
        try_no = self._history.next_try(number)
        return Attempt(
            key=self.next_key(subtask),
            run_id=order.run_id,
            step=step,
            revision=order.revision,
            subtask=number,
            pass_no=order.pass_no,
            try_no=try_no,
            number=self._history.next_number(number),
            command=command,
            outcome=outcome,
            started_at=now,
            ended_at=now,
            correction=correction,
        )

    def next_key(self, subtask: Subtask) -> str:
        """The key of the attempt that `draft` would make."""
        order, number = self._order, subtask.ordinal
        try_no = self._history.next_try(number)
        step = order.step.ordinal
        return attempt_key(order.run_id, step, order.revision, number, order.pass_no, try_no)

    def look_key(self, subtask: Subtask) -> str:
        """The key of all looks at a subtask in this pass: its check, its preconditions."""
        order = self._order
        step = order.step.ordinal
        return look_key(order.run_id, step, order.revision, subtask.ordinal, order.pass_no)

    def finish(self, attempt: Attempt) -> Attempt:
        """Record an attempt that has ended."""
        self._history.add(attempt)
        self._log.finished(attempt)
        return attempt

    def unrun(
        self,
        subtask: Subtask,
        command: str,
        outcome: Outcome,
        reason: str,
        *,
        rule: str | None = None,
        check: CommandResult | None = None,
        correction: str | None = None,
        never_red: bool = False,
        prediction: Prediction | None = None,
    ) -> Attempt:
        """Record an attempt whose command did not run; `check` is what was looked at instead."""
        draft = self.draft(subtask, command, outcome, correction)
        return self.finish(
            replace(
                draft,
                reason=reason,
                rule=rule,
                check=check,
                never_red=never_red,
                prediction=prediction,
            )
        )

    def refused(
        self,
        subtask: Subtask,
        text: str,
        what: str,
        verdict: Verdict,
        correction: str | None = None,
    ) -> Attempt:
        """Record what the guard did not let through, in its own bytes (S0.86)."""
        return self.unrun(
            subtask,
            text,
            Outcome.DENIED if verdict.denied else Outcome.NEEDS_APPROVAL,
            f"{what}: {verdict.reason}",
            rule=verdict.rule or None,
            correction=correction,
        )
