"""The messages that a person reads while a task runs (S0.76–S0.80)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from orchestrator.views import entries as e
from orchestrator.views.attempts import AttemptLine
from orchestrator.views.entries import Entry
from orchestrator.views.interventions import InterventionView
from orchestrator.views.values import RefValue
from orchestrator.words import facts, notes
from orchestrator.words.agents import describe_agent
from orchestrator.words.failures import why_it_waits
from orchestrator.words.kinds import MessageKind, Tone, Words
from orchestrator.words.looks import name_look
from orchestrator.words.quantities import brief, clock
from shared.domain.agent import AgentRemedy
from shared.domain.attempt import Answer, describe_left
from shared.domain.jobs import ASKING, ROLES
from shared.domain.next_step import command_line
from shared.domain.outcome import GREEN, Outcome
from shared.domain.prediction import Prediction
from shared.domain.task import TaskPhase

SENT_TO_PLANNER = (
    "Step {step} needs revision (sent to the planner). Expect a new plan or intervention."
)
"""S0.79, word for word."""


_SAME_TIME = {
    MessageKind.STEP_ENDED: 1,
    MessageKind.ESCALATION: 2,
    MessageKind.INTERVENTION: 3,
    MessageKind.REPORT: 4,
}
"""The order of messages of the same time."""

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


def messages_of(entries: Iterable[Entry]) -> list[Message]:
    """The messages about these entries, in order; what other messages cover has none."""
    told = (message for entry in entries if (message := message_of(entry)) is not None)
    return sorted(told, key=lambda message: (message.at, _SAME_TIME.get(message.kind, 0)))


def message_of(entry: Entry) -> Message | None:
    """The message about an entry; None when other messages cover it."""
    found = words_of(entry)
    return None if found is None else Message(entry.at, entry.ref, *found, entry.id)


def words_of(entry: Entry) -> Words | None:  # noqa: C901 - one case a kind of entry
    """The words for an entry; None when other messages cover it."""
    match entry.about:
        case e.Recorded(fact, title):
            return None if facts.told_by_others(fact, entry.ref) else facts.words(fact, title)
        case e.Parked(error):
            return MessageKind.ERROR, Tone.BAD, f"replan broke a promise: {error}"
        case e.Unreadable(reason):
            return MessageKind.ERROR, Tone.BAD, f"an event cannot be read: {reason}"
        case e.AttemptBegun(attempt):
            return _attempt_begun(attempt)
        case e.AttemptEnded(attempt):
            return _attempt_ended(attempt)
        case e.Noted(note):
            tone = Tone.ATTENTION if notes.is_bad(note) else Tone.PLAIN
            return MessageKind.AGENT, tone, notes.describe(note)
        case e.Escalated(step):
            return MessageKind.ESCALATION, Tone.ATTENTION, SENT_TO_PLANNER.format(step=step)
        case e.Opened(view):
            return MessageKind.INTERVENTION, Tone.ATTENTION, _opened(view)
        case e.Closed(view):
            return _closed(view)
        case e.TaskEnded(phase, reason):
            why = f" ({reason})" if reason else ""
            tone = Tone.GOOD if phase is TaskPhase.DONE else Tone.BAD
            return MessageKind.REPORT, tone, f"{phase}{why}"
        case e.Unclaimed() | e.Unread() | e.Unanswered():
            return MessageKind.TASK, Tone.ATTENTION, _stall(entry.about)
        case _:
            assert_never(entry.about)


def _closed(view: InterventionView) -> Words | None:
    """That it waits no longer; None where a person answered, for that is told as what it is."""
    if view.answer is not None:
        return None
    return MessageKind.INTERVENTION, Tone.PLAIN, f"{view.name} is closed"


def _attempt_begun(attempt: AttemptLine) -> Words | None:
    """That a correction is being tried; None for a command as planned."""
    if not _is_corrected(attempt):
        return None
    text = f"trying a correction ({attempt.correction}): {brief(attempt.command)}"
    return MessageKind.CORRECTION, Tone.PLAIN, text


def _is_corrected(attempt: AttemptLine) -> bool:
    """Whether its command is not as planned: of the next runner of an agent, a note tells."""
    return attempt.correction is not None and attempt.correction not in set(AgentRemedy)


def _attempt_ended(attempt: AttemptLine) -> Words:
    command = brief(attempt.command)
    if attempt.look:
        return MessageKind.PLAN, Tone.PLAIN, _look(attempt, command)
    if attempt.prediction is not None:
        tone = _FORETOLD.get(attempt.prediction, Tone.ATTENTION)
        return MessageKind.SUBTASK, tone, f"{attempt.reason} – {command}"
    if attempt.outcome in GREEN:
        return MessageKind.SUBTASK, Tone.GOOD, _success(attempt, command)
    if attempt.outcome == Outcome.BLOCKED:
        why = attempt.reason or "a subtask that it needs has failed"
        return MessageKind.SUBTASK, Tone.PLAIN, f"skipped: {why}"
    if attempt.outcome == Outcome.UNKNOWN:
        text = f"nobody can say how it ended: {command} – {attempt.reason}"
        return MessageKind.ERROR, Tone.ATTENTION, text
    return MessageKind.ERROR, Tone.BAD, _failure(attempt, command)


def _look(attempt: AttemptLine, command: str) -> str:
    reason = f" – {brief(attempt.reason)}" if attempt.reason else ""
    name = name_look(attempt)
    if attempt.agent is not None and attempt.outcome == Outcome.OK:
        return f"{name}: {command}{reason}"  # its verdict is the reason
    return f"{name} ({attempt.outcome.replace('_', ' ')}): {command}{reason}"


def _success(attempt: AttemptLine, command: str) -> str:
    how = {
        Outcome.SATISFIED.value: "unchanged",
        Outcome.SIMULATED.value: "simulated",
    }.get(attempt.outcome, "undone" if attempt.rollback else "ok")
    corrected = f" after {attempt.correction}" if _is_corrected(attempt) else ""
    told = f" – {attempt.reason}" if attempt.told_by_person is Answer.RAN else ""
    return f"{how}{corrected}: {command}{told}{_left(attempt)}{_agent(attempt)}"


def _failure(attempt: AttemptLine, command: str) -> str:
    what = attempt.outcome.replace("_", " ")
    if attempt.outcome == Outcome.FAILED and attempt.exit_code is not None:
        what = f"exit code {attempt.exit_code}"
    corrected = f" ({attempt.correction})" if _is_corrected(attempt) else ""
    if attempt.rollback:
        corrected = " (rollback)"
    ended_itself = attempt.outcome == Outcome.FAILED and attempt.exit_code is not None
    why = attempt.said if ended_itself and attempt.said else attempt.reason
    reason = f" – {brief(why)}" if why and why != what else ""
    return f"{what}{corrected}: {command}{reason}{_left(attempt)}{_agent(attempt)}"


def _left(attempt: AttemptLine) -> str:
    left = describe_left(attempt.left_over, attempt.ended_by)
    return f" – {left}" if left else ""


def _agent(attempt: AttemptLine) -> str:
    return (
        "" if attempt.agent is None else f" – {describe_agent(attempt.agent, looks=attempt.look)}"
    )


def _opened(view: InterventionView) -> str:
    why = why_it_waits(view)
    reason = f": {why}" if why else ""
    waits = f"waits for you ({view.kind.replace('_', ' ')})"
    return f"{waits}{reason} → {command_line(view.next_step)}"


def _with_article(role: str) -> str:
    return f"{'an' if role[0] in 'aeiou' else 'a'} {role}"


def describe_workers(
    workers: int | None, role: str, places: int = 0, full_since: datetime | None = None
) -> str:
    """Who could do what waits for a worker of this role."""
    if full_since is not None:
        whose = "planners" if ROLES[role] in ASKING else f"{role}s"
        all_of = f"all {places} places of the {whose} are"
        one = f"the one place of the {whose} is"
        return f"{all_of if places > 1 else one} taken since {clock(full_since)}"
    match workers:
        case None:
            return f"is {_with_article(role)} running?"
        case 0:
            return "no worker is connected, so nobody works"
        case 1:
            return f"1 worker is connected: is it {_with_article(role)}, and not busy?"
        case _:
            return f"{workers} workers are connected: is one of them a free {role}?"


def _stall(found: e.Unclaimed | e.Unread | e.Unanswered) -> str:
    match found:
        case e.Unclaimed(queue, role, seconds, workers, places, since):
            return (
                f"no {role} has taken the work on queue {queue} for {seconds:.0f} s: "
                f"{describe_workers(workers, role, places, since)} → replan worker start {role}"
            )
        case e.Unread(seconds):
            return (
                f"no coordinator has read the reports for {seconds:.0f} s "
                "→ replan coordinator start"
            )
        case e.Unanswered(number, reason, seconds):
            return (
                f"nobody has said for {seconds:.0f} s how a command ended ({reason}) "
                f"→ replan intervention show I{number}"
            )
        case _:
            assert_never(found)
