"""Rounds of looks: the same planning goes on, and a new one counts from the beginning."""

from orchestrator.core.decisions import Enqueue, KeepLooks, OpenIntervention
from orchestrator.core.intervention_kind import InterventionKind
from shared.domain import facts as f
from shared.domain.jobs import JobKind
from shared.domain.look import NOT_LOOKED, Looking
from shared.domain.task import StepPhase
from tests.unit.core.given import LOOKS, Run, running, submitted


def looking(round_no: int = 1) -> Run:
    """A run whose planner wants to look before it revises the only step."""
    run = running(max_transient_failures=1)
    run.escalates()
    run.tell(f.LooksRequested(JobKind.REVISE, 1, 0, 1, round_no, LOOKS))
    return run


def test_a_round_is_kept_and_taken_and_then_the_same_planner_goes_on() -> None:
    run = looking()
    assert run.decided == (
        KeepLooks(JobKind.REVISE, 1, 0, 1, 1, LOOKS),
        Enqueue(JobKind.LOOK, 1, 0, 1, looks=1),
    )
    assert run.step().looks == Looking(1, under_way=True)
    (again,) = run.tell(f.LooksTaken(JobKind.REVISE, 1, 0, 1, 1))
    assert isinstance(again, Enqueue)
    assert (again.kind, again.looks) == (JobKind.REVISE, 1)
    assert run.step().phase is StepPhase.REPLANNING


def test_another_round_or_another_planning_is_no_news() -> None:
    run = looking()
    before = run.state
    for fact in (
        f.LooksRequested(JobKind.REVISE, 1, 0, 1, 1, LOOKS),
        f.LooksRequested(JobKind.REVISE, 1, 0, 1, 2, LOOKS),
        f.LooksTaken(JobKind.REVISE, 1, 0, 1, 2),
        f.LooksTaken(JobKind.REPLAN, 1, 0, 1, 1),
        run.job_failure(JobKind.REVISE),
    ):
        assert run.tell(fact) == ()
    assert run.state is before


def test_looks_that_cannot_be_taken_are_put_off_and_then_left_to_a_person() -> None:
    run = looking()
    (again,) = run.job_fails(JobKind.LOOK)
    assert isinstance(again, Enqueue)
    assert (again.kind, again.looks, again.postponed) == (JobKind.LOOK, 1, 1)
    decided = run.job_fails(JobKind.LOOK)
    assert [d.kind for d in decided if isinstance(d, OpenIntervention)] == [
        InterventionKind.OPERATOR
    ]
    assert run.step().looks == NOT_LOOKED


def test_a_planning_that_begins_anew_has_seen_nothing() -> None:
    run = looking()
    run.tell(f.RevisionRequested(1, "look again"))
    assert run.step().looks == NOT_LOOKED
    (asked,) = run.bundle_is_ready()
    assert isinstance(asked, Enqueue)
    assert (asked.kind, asked.looks) == (JobKind.REVISE, 0)


def test_the_planner_of_a_task_goes_on_with_its_rounds_when_it_is_put_off() -> None:
    task = submitted()
    task.tell(f.LooksRequested(JobKind.PLAN, None, 0, 0, 1, LOOKS))
    task.tell(f.LooksTaken(JobKind.PLAN, None, 0, 0, 1))
    (again,) = task.job_fails(JobKind.PLAN)
    assert isinstance(again, Enqueue)
    assert (again.kind, again.looks) == (JobKind.PLAN, 1)
