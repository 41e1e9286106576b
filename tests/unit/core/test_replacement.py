"""A person's steps take the place of those that remain, and of nothing that has moved on."""

import pytest

from orchestrator.core.decisions import AddSteps, CancelJobs, Enqueue
from shared.domain import facts as f
from shared.domain.budget import Ending
from shared.domain.jobs import JobKind
from tests.unit.core.given import bare, running, step

NEW = (step(1), bare(2, depends_on=(1,)))


def test_new_steps_wait_for_what_is_kept_and_bare_ones_are_detailed_in_turn() -> None:
    run = running(step(1), step(2, depends_on=(1,)))
    decided = run.tell(f.StepsReplaced(2, (2,), NEW, "ann"))
    assert run.phases() == ["ready", "replaced", "not_started", "not_started"]
    (added,) = (d for d in decided if isinstance(d, AddSteps))
    assert [each.depends_on for each in added.steps] == [(1,), (3,)]
    assert CancelJobs(2) in decided
    run.pass_ends(ordinal=1)
    run.pass_ends(ordinal=3)
    assert [d.kind for d in run.decided if isinstance(d, Enqueue)] == [JobKind.DETAIL]


@pytest.mark.parametrize(
    "fact",
    [
        f.StepsReplaced(2, (1,), NEW, "ann"),
        f.StepsReplaced(2, (1, 2), NEW, "ann"),
        f.StepsReplaced(1, (2,), NEW, "ann"),
        f.StepsReplaced(2, (3,), NEW, "ann"),
        f.StepsReplaced(2, (), NEW, "ann"),
    ],
    ids=["it is at work", "one is at work", "an older plan", "no such step", "nothing"],
)
def test_what_has_moved_on_is_not_replaced(fact: f.StepsReplaced) -> None:
    run = running(step(1), step(2, depends_on=(1,)))
    run.pass_starts(1)
    assert run.tell(fact) == ()


def test_a_step_that_stays_keeps_what_it_needs() -> None:
    run = running(step(1), step(2, depends_on=(1,)), step(3, depends_on=(2,)))
    assert run.tell(f.StepsReplaced(3, (2,), NEW, "ann")) == ()


def test_a_command_whose_end_nobody_knows_is_not_replaced() -> None:
    run = running(step(1))
    run.pass_starts(1)
    run.pass_ends(Ending.UNKNOWN, 1)
    assert run.tell(f.StepsReplaced(1, (1,), NEW, "ann")) == ()
