"""Messages about the entries of a timeline."""

from datetime import UTC, datetime

import pytest

from orchestrator.views import entries as e
from orchestrator.views.entries import About, Entry
from orchestrator.words.kinds import MessageKind, Tone
from orchestrator.words.messages import message_of, messages_of
from orchestrator.words.quantities import clock
from shared.domain import facts as f
from shared.domain.budget import Ending
from shared.domain.ids import parse_ref
from shared.domain.task import RunPhase, TaskPhase

AT = datetime(2026, 1, 1, tzinfo=UTC)
DONE = f.PassFinished(1, 0, 1, Ending.DONE, 0)


def entry(about: About, name: str = "") -> Entry:
    """An entry about a step."""
    return Entry(AT, parse_ref("T7.1@web1"), about, name)


@pytest.mark.parametrize(
    ("about", "told"),
    [
        (
            e.Unclaimed("execution", "executor", 12.4),
            "no executor has taken the work on queue execution for 12 s: is an executor running? "
            "→ replan worker start executor",
        ),
        (
            e.Unclaimed("planning", "planner", 12.4, 0),
            "no planner has taken the work on queue planning for 12 s: no worker is connected, so "
            "nobody works → replan worker start planner",
        ),
        (
            e.Unclaimed("execution", "executor", 12.4, 1),
            "no executor has taken the work on queue execution for 12 s: 1 worker is connected: is "
            "it an executor, and not busy? → replan worker start executor",
        ),
        (
            e.Unclaimed("execution", "executor", 12.4, 2),
            "no executor has taken the work on queue execution for 12 s: 2 workers are connected: "
            "is one of them a free executor? → replan worker start executor",
        ),
        (
            e.Unclaimed("planning", "planner", 12.4, 2, 64, AT),
            "no planner has taken the work on queue planning for 12 s: all 64 places of the "
            f"planners are taken since {clock(AT)} → replan worker start planner",
        ),
        (
            e.Unread(11.0),
            "no coordinator has read the reports for 11 s → replan coordinator start",
        ),
        (
            e.Unanswered(3, "its runner was killed", 60.2),
            "nobody has said for 60 s how a command ended (its runner was killed) "
            "→ replan intervention show I3",
        ),
    ],
)
def test_what_stalls_a_task_is_told_with_the_command_that_helps(about: About, told: str) -> None:
    message = message_of(entry(about))
    assert message is not None
    assert (message.kind, message.tone, message.text) == (
        MessageKind.TASK,
        Tone.ATTENTION,
        told,
    )


def test_messages_of_the_same_time_are_told_in_the_order_of_what_follows() -> None:
    """A step ends, its evidence is sent, and the task ends; what has no message is left out."""
    given = [
        entry(e.TaskEnded(TaskPhase.ERROR, "given up"), "end"),
        entry(e.Escalated(1), "job-1"),
        entry(e.Recorded(f.RunChanged(1, RunPhase.ERROR)), "event-2"),
        entry(e.Recorded(DONE), "event-1"),
    ]
    assert [message.id for message in messages_of(given)] == ["event-1", "job-1", "end"]


def test_a_fact_that_was_parked_is_told_as_a_broken_promise() -> None:
    message = message_of(entry(e.Parked("no such step")))
    assert message is not None
    assert (message.kind, message.tone) == (MessageKind.ERROR, Tone.BAD)
    assert message.text == "replan broke a promise: no such step"
