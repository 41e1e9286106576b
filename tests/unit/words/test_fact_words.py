"""Every fact has words, whatever it carries; the timeline leaves out what others tell better."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.views.timeline import entry_of
from orchestrator.words.facts import words
from orchestrator.words.kinds import MessageKind
from orchestrator.words.messages import Message, message_of
from shared.domain import facts as f
from shared.domain.delivery import Judgement, Rejection
from shared.domain.jobs import JobKind, LossSign
from shared.domain.plan import Subtask, SubtaskKind
from shared.domain.task import RunPhase
from shared.fact_wire import encode_fact


def _fitting(subtask: dict[str, Any]) -> Subtask:
    """The subtask of these values, of a kind that fits its agent."""
    kind = SubtaskKind.AGENT if subtask["agent"] else SubtaskKind.COMMAND
    return Subtask(**subtask | {"kind": kind})


st.register_type_strategy(
    Subtask,
    st.fixed_dictionaries(
        {name: st.from_type(kind) for name, kind in get_type_hints(Subtask).items()}
    ).map(_fitting),
)
st.register_type_strategy(
    Decimal, st.decimals(min_value=0, max_value=100_000, allow_nan=False, places=2)
)
st.register_type_strategy(
    Judgement,
    st.builds(
        Judgement,
        commit=st.text(min_size=1),
        tree=st.text(min_size=1),
        rejection=st.none() | st.sampled_from(Rejection),
        reason=st.text(),
    ),
)
ALL = sorted({*get_args(f.TaskFact), *get_args(f.RunFact)}, key=lambda kind: kind.__name__)


@dataclass
class Event:
    """An event as it is read."""

    kind: str
    body: Any
    run_id: int | None = 1
    target: str | None = "web1"
    at: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    id: int = 1
    task_id: int = 7


def told_of(event: Event) -> Message | None:
    """The message of an event."""
    return message_of(entry_of(event, {}))


@pytest.mark.parametrize("kind", ALL)
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_fact_has_words(kind: type[f.Fact], data: st.DataObject) -> None:
    """Also one that the timeline leaves out: who hears of a single fact is told something."""
    fact = data.draw(st.from_type(kind))
    _, _, text = words(fact, "a title")
    assert text.strip()


def test_a_recorded_fact_is_told_with_its_place() -> None:
    told = told_of(Event(*encode_fact(f.StepAbandoned(2))))
    assert told is not None
    assert (str(told.ref), told.text) == ("T7.2@web1", "an operator abandoned step 2")


def test_who_ended_which_command_is_told() -> None:
    asked = f.AttemptCancelRequested(2, 0, 1, 3, 4, "R7-2-r0-3-p1-t3", "ann")
    told = told_of(Event(*encode_fact(asked)))
    assert told is not None
    assert (str(told.ref), told.kind) == ("T7.2@web1", MessageKind.SUBTASK)
    assert told.text == "ann asked to end attempt 4 of subtask 2.3"


@pytest.mark.parametrize(
    "fact", [f.BundleReady(1, 0, 1, 7), f.RunChanged(1, RunPhase.DONE), f.CancelRequested()]
)
def test_what_another_message_tells_is_not_told_twice(fact: f.Fact) -> None:
    """A run hears of its cancellation from its task, of which it was told already."""
    assert told_of(Event(*encode_fact(fact))) is None


def test_an_event_that_nobody_can_read_is_not_passed_over() -> None:
    told = told_of(Event("JobFailed", {"kind": "no such job"}))
    assert told is not None
    assert told.text.startswith("an event cannot be read: stored JobFailed cannot be read")
    failed = f.JobFailed(JobKind.PLAN, None, 0, 0, "rejected", "plan", "no luck")
    told = told_of(Event(*encode_fact(failed), run_id=None, target=None))
    assert told is not None
    assert (str(told.ref), told.text) == ("T7", "plan failed: no luck")


def test_a_clean_up_that_failed_is_told_of_its_step() -> None:
    failed = f.JobFailed(JobKind.CLEAN_UP, 2, 0, 1, "transient", "connect", "no route")
    told = told_of(Event(*encode_fact(failed)))
    assert told is not None
    assert told.text == "the clean-up of step 2 failed: no route"


def test_the_loss_of_a_worker_names_it_and_says_what_follows() -> None:
    fact = f.WorkerLost(JobKind.EXECUTE, 2, 0, 1, "executor.7@web1", LossSign.PRESENCE)
    told = told_of(Event(*encode_fact(fact)))
    assert told is not None
    assert (str(told.ref), told.text) == (
        "T7.2@web1",
        "executor 7 on web1 was lost while it carried out step 2 (its connection to the "
        "database ended): another worker takes over",
    )
