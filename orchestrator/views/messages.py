"""The messages that a person reads while a task runs (S0.76–S0.80)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from orchestrator.views.attempts import AttemptLine
from orchestrator.views.interventions import InterventionView
from orchestrator.views.values import RefValue
from shared.domain.attempt import GREEN, Answer, Outcome
from shared.domain.ids import Ref
from shared.domain.next_step import command_line
from shared.domain.prediction import Prediction
from shared.store.attempts import RUNNING

SENT_TO_PLANNER = (
    "Step {step} needs revision (sent to the planner). Expect a new plan or intervention."
)
"""S0.79, word for word."""


class MessageKind(StrEnum):
    """The subject of a message."""

    TASK = "task"
    PLAN = "plan"
    STEP_STARTED = "step_started"  # S0.76
    STEP_ENDED = "step_ended"
    SUBTASK = "subtask"  # S0.77
    ERROR = "error"  # S0.78
    CORRECTION = "correction"  # S0.78
    ESCALATION = "escalation"  # S0.79
    REVISION = "revision"
    INTERVENTION = "intervention"
    REPORT = "report"  # S0.80


class Tone(StrEnum):
    """The tone of a message, which sets its colour."""

    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"
    ATTENTION = "attention"


_FORETOLD = {
    Prediction.SATISFIED: Tone.GOOD,
    Prediction.WOULD_RUN: Tone.GOOD,
    Prediction.DENIED: Tone.BAD,
}


@dataclass(frozen=True, slots=True)
class Message:
    """A line in the timeline of a task; its `id` is unique in the task and never changes."""

    at: datetime
    ref: RefValue
    kind: MessageKind
    tone: Tone
    text: str
    id: str = ""


def of_attempt(attempt: AttemptLine) -> Message | None:
    """The message about an attempt: its end, or that a correction is being tried."""
    command = brief(attempt.command)
    if attempt.outcome == RUNNING:
        if attempt.correction is None:
            return None
        text = f"trying a correction ({attempt.correction}): {command}"
        return _message(attempt, MessageKind.CORRECTION, Tone.PLAIN, text, ended=False)
    if attempt.prediction is not None:
        tone = _FORETOLD.get(attempt.prediction, Tone.ATTENTION)
        return _message(attempt, MessageKind.SUBTASK, tone, f"{attempt.reason} – {command}")
    if attempt.outcome in GREEN:
        return _message(attempt, MessageKind.SUBTASK, Tone.GOOD, _success(attempt, command))
    if attempt.outcome == Outcome.BLOCKED:
        why = attempt.reason or "a subtask that it needs has failed"
        return _message(attempt, MessageKind.SUBTASK, Tone.PLAIN, f"skipped: {why}")
    if attempt.outcome == Outcome.UNKNOWN:
        text = f"nobody can say how it ended: {command} – {attempt.reason}"
        return _message(attempt, MessageKind.ERROR, Tone.ATTENTION, text)
    return _message(attempt, MessageKind.ERROR, Tone.BAD, _failure(attempt, command))


def _success(attempt: AttemptLine, command: str) -> str:
    how = {
        Outcome.SATISFIED.value: "unchanged",
        Outcome.SIMULATED.value: "simulated",
    }.get(attempt.outcome, "undone" if attempt.rollback else "ok")
    corrected = f" after {attempt.correction}" if attempt.correction else ""
    told = f" – {attempt.reason}" if attempt.told_by_person is Answer.RAN else ""
    return f"{how}{corrected}: {command}{told}"


def _failure(attempt: AttemptLine, command: str) -> str:
    what = attempt.outcome.replace("_", " ")
    if attempt.outcome == Outcome.FAILED and attempt.exit_code is not None:
        what = f"exit code {attempt.exit_code}"
    corrected = f" ({attempt.correction})" if attempt.correction else ""
    if attempt.rollback:
        corrected = " (rollback)"
    ended_itself = attempt.outcome == Outcome.FAILED and attempt.exit_code is not None
    why = attempt.said if ended_itself and attempt.said else attempt.reason
    reason = f" – {brief(why)}" if why and why != what else ""
    return f"{what}{corrected}: {command}{reason}"


def of_escalation(task_id: int, row: Any) -> Message:
    """S0.79: the author of a step was asked to revise it."""
    ref = Ref(task_id, step=row.step, target=row.target)
    text = SENT_TO_PLANNER.format(step=row.step)
    kind, tone = MessageKind.ESCALATION, Tone.ATTENTION
    return Message(row.created_at, ref, kind, tone, text, f"job-{row.id}")


def of_intervention(view: InterventionView) -> Message:
    """The message that something waits for a person, with the command to type."""
    reason = f": {view.reason}" if view.reason else ""
    text = f"waits for you ({view.kind.replace('_', ' ')}){reason} → {command_line(view.next_step)}"
    kind, tone = MessageKind.INTERVENTION, Tone.ATTENTION
    return Message(view.opened_at, view.ref, kind, tone, text, f"intervention-{view.id}")


def of_closing(view: InterventionView, at: datetime) -> Message:
    """The message that it no longer waits."""
    text = f"no longer waits for you ({view.kind.replace('_', ' ')})"
    kind, name = MessageKind.INTERVENTION, f"intervention-{view.id}-closed"
    return Message(at, view.ref, kind, Tone.PLAIN, text, name)


def of_end(ref: Ref, phase: str, reason: str, at: datetime) -> Message:
    """The message that a task has ended, with the command for its report."""
    why = f" ({reason})" if reason else ""
    tone = Tone.GOOD if phase == "done" else Tone.BAD
    text = f"{phase}{why} → replan task report {ref}"
    return Message(at, ref, MessageKind.REPORT, tone, text, f"end-{at.timestamp():.6f}")


def brief(text: str, length: int = 100) -> str:
    """The first line of a text, shortened to `length` characters."""
    first, _, rest = text.strip().partition("\n")
    cut = first if len(first) <= length else first[: length - 1]
    return cut if cut == first and not rest else f"{cut}…"


def _message(
    attempt: AttemptLine, kind: MessageKind, tone: Tone, text: str, *, ended: bool = True
) -> Message:
    at = attempt.ended_at if ended and attempt.ended_at is not None else attempt.started_at
    name = f"attempt-{attempt.id}" if ended else f"attempt-{attempt.id}-begun"
    return Message(at, attempt.ref, kind, tone, text, name)


def count_of(number: int, thing: str) -> str:
    """A number of things: `1 step`, `2 steps`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
