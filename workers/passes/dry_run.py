"""A dry run: predicts the result of each subtask without changing anything (S0.17, S0.88).

Only checks and preconditions reach the host, and only those that the guard allows both as commands
and as looks. A command runs in a preview at most, of which nothing stays (`preview.sh`).
"""

from dataclasses import dataclass

from shared.domain.attempt import Attempt, CommandResult
from shared.domain.errors import Rejected
from shared.domain.outcome import Outcome
from shared.domain.prediction import Prediction
from shared.domain.preview import Preview
from shared.domain.verdict import Verdict
from shared.secrets.sent import SentSubtask
from workers.passes.context import PassContext
from workers.passes.outcomes import describe_end

_OUTCOMES = {Prediction.SATISFIED: Outcome.SATISFIED, Prediction.DENIED: Outcome.DENIED}

_RUNS_NOTHING = frozenset({Prediction.SATISFIED, Prediction.DENIED})


@dataclass(frozen=True, slots=True)
class _Predicted:
    """The prediction for one subtask; `text` is the refused text, `look` the result of a look."""

    prediction: Prediction
    why: str = ""
    text: str | None = None
    verdict: Verdict | None = None
    look: CommandResult | None = None


class DryRun:
    """Predicts each subtask of one pass by itself, and records it as an attempt."""

    def __init__(self, context: PassContext) -> None:
        self._context = context

    def predict(self, subtask: SentSubtask) -> Attempt:
        """The predicted attempt; an earlier prediction of this pass stands."""
        return self._context.history.last(subtask.ordinal) or self._record(
            subtask, self._prediction(subtask)
        )

    def _record(self, subtask: SentSubtask, found: _Predicted) -> Attempt:
        return self._context.recorder.record_not_run(
            subtask,
            found.text or subtask.command,
            _OUTCOMES.get(found.prediction, Outcome.SIMULATED),
            found.why,
            prediction=found.prediction,
            preview=self._preview(subtask, found.prediction),
            rule=(found.verdict.rule or None) if found.verdict else None,
            check=found.look,
            never_red=found.prediction is Prediction.SATISFIED,
        )

    def _preview(self, subtask: SentSubtask, prediction: Prediction) -> Preview | None:
        """What the command would change, if it may run; None if nobody can look."""
        if prediction in _RUNS_NOTHING:
            return None
        return self._context.means.preview(subtask.command)

    def _prediction(self, subtask: SentSubtask) -> _Predicted:
        """Predict in the order in which a real pass would proceed."""
        unseen, look = "", None
        if subtask.check is not None:
            stopped = self._refusal("check", subtask.check)
            if stopped is not None:
                return stopped
            if self._is_looked_at(subtask.check):
                look, unseen = self._look(subtask.check)
            if look is not None and look.ok:
                return _Predicted(Prediction.SATISFIED, "its check is green", look=look)
        denied = self._first_denial(subtask)
        if denied is not None:
            return denied
        return self._unmet_precondition(subtask) or self._predict_command(subtask, look, unseen)

    def _first_denial(self, subtask: SentSubtask) -> _Predicted | None:
        """The first text that the guard denies, whatever a pass would meet before it."""
        for what, text in (*_preconditions(subtask), ("command", subtask.command)):
            if self._context.means.verdict(text).denied:
                return self._refusal(what, text)
        return None

    def _unmet_precondition(self, subtask: SentSubtask) -> _Predicted | None:
        for what, text in _preconditions(subtask):
            stopped = self._refusal(what, text)
            if stopped is not None:
                return stopped
            look, unseen = self._look(text)
            if unseen:
                return _Predicted(Prediction.UNKNOWN, f"its precondition {text} {unseen}")
            if look is not None and not look.ok:
                why = f"{text} ({describe_end(look)}), unless an earlier subtask changes that"
                return _Predicted(Prediction.PRECONDITION_UNMET, why, look=look)
        return None

    def _predict_command(
        self, subtask: SentSubtask, look: CommandResult | None, unseen: str
    ) -> _Predicted:
        verdict = self._context.gate.command_verdict(subtask)
        if not verdict.allowed:
            why = f"command: {verdict.reason}"
            return _Predicted(Prediction.NEEDS_APPROVAL, why, verdict=verdict, look=look)
        if unseen:
            why = f"it would run unless its check is green, which {unseen}"
            return _Predicted(Prediction.UNKNOWN, why, look=look)
        return _Predicted(Prediction.WOULD_RUN, look=look)

    def _refusal(self, what: str, text: str) -> _Predicted | None:
        """The prediction for a text that the guard does not allow; None if it allows it."""
        means = self._context.means
        verdict = means.verdict(text) if what == "command" else means.check_verdict(text)
        if verdict.allowed:
            return None
        prediction = Prediction.DENIED if verdict.denied else Prediction.NEEDS_APPROVAL
        return _Predicted(prediction, f"{what}: {verdict.reason}", text, verdict)

    def _is_looked_at(self, check: str) -> bool:
        """Whether its answer matters: a check that looks at nothing settles nothing."""
        means = self._context.means
        return means.settles(check) or not means.look_verdict(check).allowed

    def _look(self, text: str) -> tuple[CommandResult | None, str]:
        """The result of an allowed text; or None, and the words that say why there is none."""
        verdict = self._context.means.look_verdict(text)
        if not verdict.allowed:
            return None, f"was not run because it may change something ({verdict.reason})"
        try:
            look = self._context.means.look(text, timeout=self._context.order.policy.check_timeout)
        except Rejected as error:
            return None, f"could not be run ({error.reason})"
        if look.exit_code is None:
            return look, f"did not end by itself ({describe_end(look)})"
        return look, ""


def _preconditions(subtask: SentSubtask) -> tuple[tuple[str, str], ...]:
    return tuple(("precondition", text) for text in subtask.preconditions)
