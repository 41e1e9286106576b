"""A task follows its runs: one plan, many targets."""

import pytest

from orchestrator.core.decisions import CancelRuns, CloseInterventions, ResumeRuns, StartRuns
from shared.domain import facts as f
from shared.domain.jobs import JobKind
from shared.domain.task import RunPhase, TaskPhase
from tests.unit.core.given import BY_HAND, Task, bare, plan, step, submitted, subtasks

R = RunPhase


def begun(runs: int = 1) -> Task:
    """A task whose plan was complete when it was submitted."""
    return submitted(runs=runs, given=plan(step(1), step(2)))


def test_a_plan_given_by_hand_begins_at_once_whatever_the_taskmaster_is_set_to() -> None:
    """A complete plan needs no refining, no planner and no detailing (X6)."""
    task = submitted(given=plan(step(1)), taskmaster_enabled=True, planner="human")
    assert task.phase is TaskPhase.RUNNING
    assert task.decided == (CloseInterventions(), StartRuns(task.state.policy, plan(step(1))))


def test_a_plan_given_in_part_is_detailed_first() -> None:
    """Only the steps without subtasks are asked for."""
    task = submitted(given=plan(step(1), bare(2)))
    assert task.phase is TaskPhase.DETAILING
    assert [getattr(d, "step", None) for d in task.decided] == [None, 2]


def test_detailed_steps_carry_who_detailed_them() -> None:
    """S0.47: the provenance of each step's subtasks is kept, whatever order they come in."""
    task = submitted(given=plan(bare(1), step(2), bare(3)))
    task.tell(f.StepDetailed(3, subtasks("c"), BY_HAND))
    decided = task.tell(f.StepDetailed(1, subtasks("a"), BY_HAND))
    started = decided[-1]
    assert isinstance(started, StartRuns)
    assert [s.subtasks[0].command for s in started.plan.steps] == ["a", "true", "c"]
    assert [s.author == BY_HAND for s in started.plan.steps] == [True, False, True]


@pytest.mark.parametrize(
    ("phases", "expected"),
    [
        ((R.RUNNING,), TaskPhase.RUNNING),
        ((R.WAITING,), TaskPhase.WAITING),
        ((R.DONE,), TaskPhase.DONE),
        ((R.ERROR,), TaskPhase.ERROR),
        ((R.CANCELLED,), TaskPhase.CANCELLED),
        ((R.DONE, R.RUNNING), TaskPhase.RUNNING),
        ((R.DONE, R.WAITING), TaskPhase.WAITING),
        ((R.WAITING, R.RUNNING), TaskPhase.RUNNING),
        ((R.WAITING, R.NOT_STARTED), TaskPhase.RUNNING),
        ((R.DONE, R.NOT_STARTED), TaskPhase.RUNNING),
        ((R.CANCELLED, R.NOT_STARTED), TaskPhase.RUNNING),
        ((R.ERROR, R.WAITING), TaskPhase.WAITING),
        ((R.DONE, R.DONE), TaskPhase.DONE),
        ((R.DONE, R.ERROR), TaskPhase.ERROR),
        ((R.DONE, R.CANCELLED), TaskPhase.CANCELLED),
        ((R.CANCELLED, R.ERROR), TaskPhase.ERROR),
        ((R.DONE, R.ERROR, R.WAITING), TaskPhase.WAITING),
        ((R.DONE, R.ERROR, R.CANCELLED), TaskPhase.ERROR),
    ],
)
def test_a_task_stands_where_its_runs_stand(
    phases: tuple[RunPhase, ...], expected: TaskPhase
) -> None:
    """It runs while one can go on, waits when none can, ends when all have, as the worst did."""
    assert begun(len(phases)).runs_are(*phases) is expected


def test_cancelling_a_task_with_runs_waits_for_them_to_say_so() -> None:
    """The runs are told; the task is cancelled when each has reported."""
    task = begun(2)
    task.runs_are(R.RUNNING, R.RUNNING)
    assert task.tell(f.CancelRequested()) == (CancelRuns(),)
    assert task.phase is TaskPhase.RUNNING
    assert task.runs_are(R.CANCELLED) is TaskPhase.RUNNING
    assert task.runs_are(R.CANCELLED, R.CANCELLED) is TaskPhase.CANCELLED


def test_a_task_can_be_cancelled_before_its_runs_have_said_a_word() -> None:
    """Between the start of the runs and their first report a cancellation reaches them, too."""
    task = begun()
    assert task.tell(f.CancelRequested()) == (CancelRuns(),)
    assert task.runs_are(R.CANCELLED) is TaskPhase.CANCELLED


def test_a_task_that_waits_in_its_runs_can_be_cancelled() -> None:
    """Waiting for a human in a run is not waiting for a plan."""
    task = begun(2)
    task.runs_are(R.WAITING, R.DONE)
    assert task.tell(f.CancelRequested()) == (CancelRuns(),)
    assert task.runs_are(R.CANCELLED, R.DONE) is TaskPhase.CANCELLED


@pytest.mark.parametrize("phase", [R.DONE, R.ERROR, R.CANCELLED])
def test_what_has_ended_is_not_cancelled(phase: RunPhase) -> None:
    """A cancellation that comes too late changes nothing."""
    task = begun()
    task.runs_are(phase)
    before = task.state
    assert task.tell(f.CancelRequested()) == ()
    assert task.state == before


def test_resume_of_a_task_reaches_its_runs() -> None:
    """S1.21: a task that waits stays so until a run says that it goes on."""
    task = begun(2)
    task.runs_are(R.WAITING, R.DONE)
    assert task.tell(f.ResumeRequested()) == (ResumeRuns(),)
    assert task.runs_are(R.RUNNING) is TaskPhase.RUNNING


def test_resume_of_a_task_in_error_sets_it_running() -> None:
    """S1.12, S1.14: error is not the end when somebody has removed the cause."""
    task = begun(2)
    task.runs_are(R.ERROR, R.DONE)
    assert task.tell(f.ResumeRequested()) == (ResumeRuns(),)
    assert task.phase is TaskPhase.RUNNING
    assert task.runs_are(R.DONE, R.DONE) is TaskPhase.DONE


def test_resume_of_a_task_whose_runs_have_just_been_started_starts_nothing_twice() -> None:
    """The runs are resumed, which changes nothing; they are not started again."""
    task = begun()
    assert task.tell(f.ResumeRequested()) == (ResumeRuns(),)
    assert task.phase is TaskPhase.RUNNING


@pytest.mark.parametrize("phase", [R.DONE, R.CANCELLED])
def test_what_has_ended_well_or_was_cancelled_is_not_resumed(phase: RunPhase) -> None:
    """S1.15: finished work is not redone."""
    task = begun()
    task.runs_are(phase)
    assert task.tell(f.ResumeRequested()) == ()
    assert task.phase.value == phase.value


def test_a_run_in_error_that_is_revised_brings_its_task_back() -> None:
    """A revision by hand of a step that was given up sets the run, and so the task, running."""
    task = begun()
    task.runs_are(R.ERROR)
    assert task.runs_are(R.RUNNING) is TaskPhase.RUNNING


def test_the_report_of_a_run_that_is_not_of_this_task_is_no_news() -> None:
    """An unknown run adds nothing to the task."""
    task = begun()
    before = task.state
    assert task.tell(f.RunChanged(99, R.ERROR)) == ()
    assert task.state == before


def test_put_offs_are_counted_for_the_job_at_hand() -> None:
    """S1.47: what was put off and then done leaves no trace, and detailing has its own numbers."""
    task = submitted()
    task.job_fails(JobKind.PLAN)
    assert task.state.postponed == 1
    task.tell(f.PlanDrafted(plan(bare(1))))
    assert task.state.postponed == 0
    task.job_fails(JobKind.DETAIL, ordinal=1)
    assert (task.phase, task.state.postponed) == (TaskPhase.DETAILING, 0)
    planned = submitted()
    planned.job_fails(JobKind.PLAN)
    planned.job_fails(JobKind.PLAN, "misconfigured")
    assert (planned.phase, planned.state.postponed) == (TaskPhase.WAITING, 0)


def test_a_plan_that_comes_while_the_runs_wait_is_not_taken() -> None:
    """Once begun, a plan changes only by revisions."""
    task = begun()
    task.runs_are(R.WAITING)
    before = task.state
    assert task.tell(f.PlanDrafted(plan(step(1)))) == ()
    assert task.state == before


def test_a_bare_plan_does_not_displace_the_plan_that_is_being_detailed() -> None:
    """While a step waits to be detailed, only a complete plan takes the place of the one there."""
    task = submitted(given=plan(bare(1)), subtask_planner="human")
    assert task.tell(f.PlanDrafted(plan(bare(1), bare(2)))) == ()
    decided = task.tell(f.PlanDrafted(plan(step(1))))
    assert decided[-1] == StartRuns(task.state.policy, plan(step(1)))
