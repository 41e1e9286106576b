"""What is at work for a task, in words: planners, steps, and the end of what a command writes."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from orchestrator.views.attempts import AttemptLine, OutputPiece
from orchestrator.views.live import OpenJob
from orchestrator.views.steps import StepLine
from orchestrator.words.looks import name_look
from orchestrator.words.quantities import count_of
from orchestrator.words.transcripts import tell_event
from orchestrator.words.visible_text import shown_last
from shared.domain.jobs import JobKind
from shared.domain.task import StepPhase
from shared.domain.transcript import EVENTS

WORK = {
    JobKind.REFINE: "its prompt is improved",
    JobKind.PLAN: "its planner plans",
    JobKind.DETAIL: "its planner works out the subtasks",
    JobKind.REVISE: "its planner revises it",
    JobKind.REPLAN: "its planner changes the plan",
    JobKind.EXECUTE: "runs",
    JobKind.GATHER: "the evidence is gathered",
    JobKind.ADVISE: "its planner judges another try",
    JobKind.LOOK: "its planner looks at the host",
    JobKind.CLEAN_UP: "what was left running is ended",
    JobKind.ACCEPT: "its delivery is checked",
    JobKind.REVIEW: "its delivery is reviewed",
    JobKind.CHECKPOINT: "what was accepted is published",
}
"""What a worker does with a job of that kind."""

_PHASES = {
    StepPhase.DETAILING: WORK[JobKind.DETAIL],
    StepPhase.READY: "waits for a worker",
    StepPhase.REPLANNING: WORK[JobKind.REVISE],
    StepPhase.ACCEPTING: WORK[JobKind.ACCEPT],
}


def describe_job(job: OpenJob, now: datetime) -> str:
    """What a worker does, or when, or that none does it yet."""
    if job.until is not None:
        return f"{WORK[job.kind]} in {max(0.0, (job.until - now).total_seconds()):.0f} s"
    return WORK[job.kind] if job.held else f"{WORK[job.kind]}: waits for a worker"


def describe_step(step: StepLine) -> str:
    """What happens to a step while none of its commands runs; empty for one that is carried out."""
    return _PHASES.get(step.phase, "")


def count_subtasks(step: StepLine) -> str:
    """How many of its subtasks are done."""
    return "" if step.bare else f"{step.done} of {step.subtasks} done"


def count_errors(step: StepLine) -> str:
    """How many errors there were, and how many make it stop; empty without an error."""
    if not step.errors:
        return ""
    return f"{count_of(step.errors, 'error')} of {step.threshold}"


def describe_kind(attempt: AttemptLine) -> str:
    """What sets a running attempt apart from a command as planned."""
    if attempt.look:
        return name_look(attempt)
    if attempt.rollback:
        return "rollback"
    return f"correction {attempt.correction}" if attempt.correction else ""


def last_lines(pieces: Iterable[OutputPiece], most: int) -> list[str]:
    """The newest lines of output, at most that many; each stream has lines of its own."""
    if not most:
        return []
    lines: list[str] = []
    rest: dict[str, str] = defaultdict(str)
    for piece in pieces:
        *whole, rest[piece.stream] = (rest[piece.stream] + piece.text).split("\n")
        lines += (told for line in whole for told in _told(piece.stream, line))
    lines += (stream_rest for name, stream_rest in rest.items() if name != EVENTS)
    shown = (shown_last(line).rstrip() for line in lines)
    return [line for line in shown if line.strip()][-most:]


def _told(stream: str, line: str) -> list[str]:
    if stream != EVENTS:
        return [line]
    try:
        return tell_event(line).split("\n")
    except ValueError:  # the first piece that was read begins inside a line
        return []
