"""What is told to a person while a task runs (S0.76–S0.80): the words of each message."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from orchestrator.views.attempts import AttemptLine
from orchestrator.views.interventions import InterventionView
from orchestrator.views.values import RefValue
from shared.domain.attempt import GREEN, Answer, Outcome
from shared.domain.budget import UNAVAILABLE
from shared.domain.ids import Ref
from shared.domain.prediction import Prediction
from shared.store.attempts import RUNNING

SENT_TO_PLANNER = (
    "Step {step} needs revision (sent to the planner). Expect a new plan or intervention."
)
"""S0.79, word for word."""

_ANSWERS = {
    Answer.RAN.value: "a person says of step {step}: the command ran",
    Answer.NOT_RUN.value: "a person says of step {step}: the command did not run",
    Answer.AGAIN.value: "a person says of step {step}: run the command again",
}


class MessageKind(StrEnum):
    """What a message is about."""

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
    """How a message is to be taken."""

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
    """One line of a task's story."""

    at: datetime
    ref: RefValue
    kind: MessageKind
    tone: Tone
    text: str


def of_event(task_id: int, row: Any, titles: dict[int, str]) -> Message | None:
    """The message of a recorded fact; None for one that other messages tell better."""
    body, target = row.body, row.target
    ref = Ref(task_id, step=body.get("step"), target=target)
    told = _event(row.kind, body, titles, row.run_id is not None)
    if told is None:
        return None
    kind, tone, text = told
    return Message(row.at, ref, kind, tone, text)


def _event(  # noqa: C901, PLR0912 - one case a kind of fact
    kind: str, body: dict[str, Any], titles: dict[int, str], of_run: bool
) -> tuple[MessageKind, Tone, str] | None:
    step = body.get("step")
    match kind:
        case "TaskSubmitted":
            planned = "submitted with a plan" if body.get("plan") else "submitted"
            return MessageKind.TASK, Tone.PLAIN, planned
        case "PromptRefined":
            return MessageKind.PLAN, Tone.PLAIN, "the prompt was improved"
        case "PlanDrafted":
            count = len(body["plan"]["steps"])
            return MessageKind.PLAN, Tone.GOOD, f"planned in {_count(count, 'step')}"
        case "StepDetailed":
            count = len(body["subtasks"])
            return MessageKind.PLAN, Tone.PLAIN, f"step {step} detailed: {_count(count, 'subtask')}"
        case "PassStarted":
            return MessageKind.STEP_STARTED, Tone.PLAIN, _started(body, titles.get(step or 0, ""))
        case "PassFinished":
            return _finished(body)
        case "StepRevised":
            return MessageKind.REVISION, Tone.ATTENTION, _revised(body)
        case "BundleSent" | "StepHandedUp" | "PlanRevised":
            return _sought(kind, body)
        case "RevisionRequested":
            note = f": {body['note']}" if body.get("note") else ""
            return MessageKind.REVISION, Tone.PLAIN, f"an operator asks for a revision{note}"
        case "QuestionAsked":
            return MessageKind.INTERVENTION, Tone.PLAIN, "the taskmaster asks before it goes on"
        case "QuestionAnswered":
            return MessageKind.INTERVENTION, Tone.PLAIN, f"{body['given_by']}: {body['answer']}"
        case "RetryAdvised":
            return MessageKind.REVISION, Tone.PLAIN, _advised(body)
        case "PolicyChanged" if not of_run:
            told = ", ".join(f"{key}={value}" for key, value in body["changes"].items())
            return MessageKind.TASK, Tone.PLAIN, f"an operator changed limits: {told}"
        case "StepAbandoned":
            return MessageKind.STEP_ENDED, Tone.BAD, f"step {step} was given up by an operator"
        case "OutcomeTold":
            return MessageKind.INTERVENTION, Tone.PLAIN, _ANSWERS[body["answer"]].format(step=step)
        case "CommandsApproved" | "ApprovalDenied" | "PlanApproved":
            return MessageKind.INTERVENTION, Tone.PLAIN, _approval(kind, body)
        case "JobFailed" if body["family"] == UNAVAILABLE:
            told = f"{body['kind']} waits for the provider: {body['reason']}"
            return MessageKind.TASK, Tone.ATTENTION, told
        case "JobFailed":
            return MessageKind.ERROR, Tone.BAD, f"{body['kind']} failed: {body['reason']}"
        case "CancelRequested" if not of_run:
            return MessageKind.TASK, Tone.PLAIN, "an operator asks to cancel"
        case "ResumeRequested" if not of_run:
            return MessageKind.TASK, Tone.PLAIN, "resumed by an operator"
        case "Defect":
            return MessageKind.ERROR, Tone.BAD, f"replan broke a promise: {body['error']}"
    return None


def _advised(body: dict[str, Any]) -> str:
    word = "to try again" if body["retry"] else "against another try"
    why = f": {body['reason']}" if body.get("reason") else ""
    return f"the planner of step {body['step']} advises {word}{why}"


def _sought(kind: str, body: dict[str, Any]) -> tuple[MessageKind, Tone, str]:
    step = body["step"]
    if kind == "BundleSent":
        note = f": {body['note']}" if body.get("note") else ""
        told = f"an operator sends the evidence of step {step} to its planner{note}"
        return MessageKind.REVISION, Tone.PLAIN, told
    if kind == "StepHandedUp":
        told = f"step {step} cannot be done as planned: {body['reason']}"
        return MessageKind.REVISION, Tone.ATTENTION, told
    count = _count(len(body["steps"]), "step")
    reason = f": {body['reason']}" if body.get("reason") else ""
    told = f"the plan was changed from step {step} on, {count} in its place{reason}"
    return MessageKind.PLAN, Tone.ATTENTION, told


def _approval(kind: str, body: dict[str, Any]) -> str:
    if kind == "PlanApproved":
        return f"{body['given_by']} approved the plan"
    step = body["step"]
    if kind == "ApprovalDenied":
        note = f": {body['note']}" if body.get("note") else ""
        return f"{body['denied_by']} did not approve what step {step} would run{note}"
    first = body["approvals"][0] if body["approvals"] else {"given_by": "somebody", "scope": "once"}
    often = "once" if first["scope"] == "once" else "for this task"
    return f"{first['given_by']} approved what step {step} would run, {often}"


def _started(body: dict[str, Any], title: str) -> str:
    named = f"step {body['step']} started"
    if title:
        named += f": {title}"
    if body["pass_no"] > 1:
        named += f" (pass {body['pass_no']}, revision {body['revision']})"
    return named


def _finished(body: dict[str, Any]) -> tuple[MessageKind, Tone, str]:
    step, ending, reason = body["step"], body["ending"], body.get("reason", "")
    why = f": {reason}" if reason else ""
    if ending == "done":
        return MessageKind.STEP_ENDED, Tone.GOOD, f"step {step} done"
    words = {
        "threshold": f"step {step} stopped at the error threshold",
        "incomplete": f"step {step} could not be completed",
        "blocked": f"step {step} stopped: a forbidden command",
        "needs_approval": f"step {step} stopped: a command needs approval",
        "cancelled": f"step {step} was cancelled",
        "unknown": f"step {step} stopped: nobody can say how a command ended",
        "needs_input": f"step {step} asks a person",
        "rollback_failed": f"step {step} stopped: what was to be undone first could not be",
    }
    told = words.get(ending, f"step {step}: {ending}")
    errors = f" ({_count(body['errors'], 'error')})" if body.get("errors") else ""
    return MessageKind.STEP_ENDED, Tone.BAD, f"{told}{errors}{why}"


def _revised(body: dict[str, Any]) -> str:
    count = _count(len(body["subtasks"]), "subtask")
    reason = f": {body['reason']}" if body.get("reason") else ""
    author = body["author"]
    undoes = f", after undoing {', '.join(body['rollback'])}" if body.get("rollback") else ""
    return (
        f"revision {body['revision']} of step {body['step']} by {author['role']} "
        f"({author['backend']}), {count}{undoes}{reason}"
    )


def of_attempt(attempt: AttemptLine) -> Message | None:
    """What is told of an attempt: its end, or that a correction is being tried."""
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
        return _message(attempt, MessageKind.SUBTASK, Tone.GOOD, _succeeded(attempt, command))
    if attempt.outcome == Outcome.BLOCKED:
        why = attempt.reason or "what it needs has failed"
        return _message(attempt, MessageKind.SUBTASK, Tone.PLAIN, f"left out: {why}")
    if attempt.outcome == Outcome.UNKNOWN:
        text = f"nobody can say how it ended: {command} – {attempt.reason}"
        return _message(attempt, MessageKind.ERROR, Tone.ATTENTION, text)
    return _message(attempt, MessageKind.ERROR, Tone.BAD, _failed(attempt, command))


def _succeeded(attempt: AttemptLine, command: str) -> str:
    how = {
        Outcome.SATISFIED.value: "already so",
        Outcome.SIMULATED.value: "simulated",
    }.get(attempt.outcome, "undone" if attempt.rollback else "ok")
    corrected = f" after {attempt.correction}" if attempt.correction else ""
    told = f" – {attempt.reason}" if attempt.told_by_person is Answer.RAN else ""
    return f"{how}{corrected}: {command}{told}"


def _failed(attempt: AttemptLine, command: str) -> str:
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
    """S0.79: the evidence of a step goes to whoever planned it."""
    ref = Ref(task_id, step=row.step, target=row.target)
    text = SENT_TO_PLANNER.format(step=row.step)
    return Message(row.created_at, ref, MessageKind.ESCALATION, Tone.ATTENTION, text)


def of_intervention(view: InterventionView) -> Message:
    """That something waits for a person, and what to type."""
    reason = f": {view.reason}" if view.reason else ""
    text = f"waits for you ({view.kind.replace('_', ' ')}){reason} → {view.next_step_cmd}"
    return Message(view.opened_at, view.ref, MessageKind.INTERVENTION, Tone.ATTENTION, text)


def of_end(ref: Ref, phase: str, reason: str, at: datetime) -> Message:
    """That a task has ended, and where its report is."""
    why = f" ({reason})" if reason else ""
    tone = Tone.GOOD if phase == "done" else Tone.BAD
    text = f"{phase}{why} → replan task report {ref}"
    return Message(at, ref, MessageKind.REPORT, tone, text)


def brief(text: str, length: int = 100) -> str:
    """The first line of a text, cut to a length."""
    first, _, rest = text.strip().partition("\n")
    cut = first if len(first) <= length else first[: length - 1]
    return cut if cut == first and not rest else f"{cut}…"


def _message(
    attempt: AttemptLine, kind: MessageKind, tone: Tone, text: str, *, ended: bool = True
) -> Message:
    at = attempt.ended_at if ended and attempt.ended_at is not None else attempt.started_at
    return Message(at, attempt.ref, kind, tone, text)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
