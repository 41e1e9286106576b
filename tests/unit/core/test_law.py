"""The law is complete, and `advance` holds the rules to it."""

import dataclasses
from decimal import Decimal
from typing import Any, get_args

import pytest

from orchestrator.core.decisions import (
    CancelJobs,
    CloseInterventions,
    Decision,
    Enqueue,
    OpenIntervention,
)
from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.core.machine import advance, hold_to_the_law
from orchestrator.core.state import RunState, TaskState, WaitsFor
from orchestrator.core.transitions import MOVES_NO_STEP, STEP_TRANSITIONS, TASK_TRANSITIONS
from shared.domain import facts as f
from shared.domain.attempt import Answer
from shared.domain.author import PlanningRole
from shared.domain.budget import Ending
from shared.domain.delivery import CheckpointEnding, Judgement
from shared.domain.errors import Defect
from shared.domain.jobs import JobKind, LossSign, QueueName, queue_of
from shared.domain.records import RecordsAnswer
from shared.domain.spending import SPENDING, Cap, CapReached, Unpaid
from shared.domain.task import RunPhase, StepPhase
from tests.unit.core.deliveries import refused_by_the_remote, shown_to_a_person
from tests.unit.core.given import (
    BY_HAND,
    LOOKS,
    PLANNER,
    SUBTASK_PLANNER,
    at,
    bare,
    plan,
    replay,
    replay_task,
    running,
    step,
    submitted,
    subtasks,
)


@pytest.mark.parametrize("fact", get_args(f.RunFact))
def test_every_fact_about_a_run_is_ruled_in_some_phase(fact: type) -> None:
    """A fact that no phase of a step knows could only ever be overtaken."""
    assert fact in MOVES_NO_STEP or any(fact in ruled for ruled in STEP_TRANSITIONS.values())


@pytest.mark.parametrize("fact", get_args(f.TaskFact))
def test_every_fact_about_a_task_is_ruled_in_some_phase(fact: type) -> None:
    """A fact that no phase of a task knows could only ever be overtaken."""
    assert any(fact in ruled for ruled in TASK_TRANSITIONS.values())


def test_the_tables_rule_facts_only() -> None:
    """No entry is for something that is not a fact of its kind."""
    of_steps = {fact for ruled in STEP_TRANSITIONS.values() for fact in ruled}
    of_tasks = {fact for ruled in TASK_TRANSITIONS.values() for fact in ruled}
    assert of_steps == set(get_args(f.RunFact)) - MOVES_NO_STEP
    assert of_tasks == set(get_args(f.TaskFact))
    assert set(f.FACTS.values()) == of_steps | of_tasks | MOVES_NO_STEP
    assert set(get_args(f.RunFact)) >= MOVES_NO_STEP


@pytest.mark.parametrize("kind", JobKind)
@pytest.mark.parametrize("role", PlanningRole)
def test_every_job_has_a_queue(kind: JobKind, role: PlanningRole) -> None:
    """D.5: whatever is decided, some kind of worker will see it."""
    assert queue_of(kind, role) in QueueName


def over_budget(cap: Cap) -> tuple[Decision, ...]:
    """What follows a pass whose agent could not pay its next call."""
    run, cent = running(), Decimal("0.01")
    unpaid = Unpaid(1, CapReached(cap, cent, cent, cent, "m"))
    return run.tell(dataclasses.replace(run.pass_end(Ending.OVER_BUDGET), unpaid=unpaid))


@pytest.mark.parametrize("cap", Cap)
def test_what_waits_for_money_says_for_which(cap: Cap) -> None:
    """Only the budget of a subtask is raised for that subtask."""
    (opened,) = [d for d in over_budget(cap) if isinstance(d, OpenIntervention)]
    own = cap is Cap.BUDGET
    assert opened.kind is (InterventionKind.BUDGET if own else InterventionKind.SPENDING)
    assert opened.unpaid is not None
    assert (opened.unpaid.reached.cap, opened.stage) == (cap, "execute")


@pytest.mark.parametrize("kind", InterventionKind)
def test_every_reason_to_wait_occurs(kind: InterventionKind) -> None:
    """Each kind of intervention is opened by some story."""
    stories = {
        InterventionKind.PLAN: lambda: submitted(planner="human").decided,
        InterventionKind.REVISION: lambda: running(step(author=BY_HAND)).escalates(),
        InterventionKind.HELD_BUNDLE: lambda: running(
            send_to_planner_after_threshold=False
        ).escalates(),
        InterventionKind.ESCALATION: lambda: running(human_escalation_threshold=0).escalates(),
        InterventionKind.PLAN_APPROVAL: lambda: (
            submitted(given=plan(step()), autonomy="plan").decided
        ),
        InterventionKind.BLOCKED: lambda: running().pass_ends(Ending.BLOCKED),
        InterventionKind.APPROVAL: lambda: running().pass_ends(Ending.NEEDS_APPROVAL),
        InterventionKind.UNKNOWN: lambda: running().pass_ends(Ending.UNKNOWN),
        InterventionKind.QUESTION: lambda: running().pass_ends(Ending.NEEDS_INPUT),
        InterventionKind.FORGOTTEN: lambda: running().pass_ends(Ending.FORGOTTEN),
        InterventionKind.ROLLBACK: lambda: running().pass_ends(Ending.ROLLBACK_FAILED),
        InterventionKind.BUDGET: lambda: over_budget(Cap.BUDGET),
        InterventionKind.OPERATOR: lambda: running().job_fails(JobKind.EXECUTE, "misconfigured"),
        InterventionKind.SPENDING: lambda: submitted().job_fails(
            JobKind.PLAN, "misconfigured", stage=SPENDING
        ),
        InterventionKind.DELIVERY: lambda: shown_to_a_person().decided,
        InterventionKind.CHECKPOINT: lambda: refused_by_the_remote().decided,
    }
    opened = [d.kind for d in stories[kind]() if isinstance(d, OpenIntervention)]
    assert opened == [kind]


@pytest.mark.parametrize(
    "fact",
    [
        f.PassStarted(9, 0, 1),
        f.PassFinished(9, 0, 1, Ending.DONE, 0),
        f.BundleReady(9, 0, 1, 7),
        f.BundleSent(9, 0, 1),
        f.StepRevised(9, 1, BY_HAND, subtasks("true")),
        f.StepHandedUp(9, 0, 1, PLANNER, "no"),
        f.PlanRevised(9, 0, 1, 1, (step(),)),
        f.RevisionRequested(9),
        f.StepAbandoned(9),
        f.OutcomeTold(9, 0, 1, Answer.RAN),
        f.QuestionAnswered(9, "which?", "a", 7, "ann", 0, 1),
        f.SpendingAllowed(9, 0, 1, "ann"),
        f.RetryAdvised(9, 0, 1, retry=True),
        f.AttemptCancelRequested(9, 0, 1, 1, 1, "key", "ann"),
        f.CommandLeftRunning(9, 0, 1),
        f.CleanupFinished(9, 0, 1),
        f.LooksRequested(JobKind.REVISE, 9, 0, 1, 1, LOOKS),
        f.LooksTaken(JobKind.REVISE, 9, 0, 1, 1),
        f.WorkerLost(JobKind.EXECUTE, 9, 0, 1, "executor.7@web1", LossSign.PRESENCE),
    ],
    ids=lambda fact: type(fact).__name__,
)
def test_a_fact_about_a_step_that_is_not_there_changes_nothing(fact: f.RunFact) -> None:
    """It is overtaken: the very same state comes back, and nothing is decided."""
    run = running()
    before = run.state
    assert run.tell(fact) == ()
    assert run.state is before


@pytest.mark.parametrize("fact", get_args(f.RunFact), ids=lambda kind: kind.__name__)
def test_only_its_start_means_anything_to_a_run_that_has_not_begun(fact: type) -> None:
    """Facts that come before the run has begun are no news, except that it is cancelled."""
    told: dict[type, Any] = {
        f.RunStarted: f.RunStarted(submitted().state.policy, plan(step())),
        f.PassStarted: f.PassStarted(1, 0, 1),
        f.PassFinished: f.PassFinished(1, 0, 1, Ending.DONE, 0),
        f.BundleReady: f.BundleReady(1, 0, 1, 7),
        f.BundleSent: f.BundleSent(1, 0, 1),
        f.StepRevised: f.StepRevised(1, 1, BY_HAND, subtasks("true")),
        f.StepHandedUp: f.StepHandedUp(1, 0, 1, PLANNER, "no"),
        f.PlanRevised: f.PlanRevised(1, 0, 1, 1, (step(),)),
        f.RevisionRequested: f.RevisionRequested(1),
        f.StepAbandoned: f.StepAbandoned(1),
        f.OutcomeTold: f.OutcomeTold(1, 0, 1, Answer.RAN),
        f.RecordsSettled: f.RecordsSettled(1, 0, 1, 7, RecordsAnswer.DISCARD, ("token",), 1, "ann"),
        f.SpendingAllowed: f.SpendingAllowed(1, 0, 1, "ann", 1, Decimal(1)),
        f.CommandsApproved: f.CommandsApproved(1, 0, 1, 7, ()),
        f.ApprovalDenied: f.ApprovalDenied(1, 0, 1, 7, "ann"),
        f.JobFailed: running().job_failure(JobKind.EXECUTE),
        f.CancelRequested: f.CancelRequested(),
        f.ResumeRequested: f.ResumeRequested(),
        f.PolicyChanged: f.PolicyChanged({"max_retry_count": 5}),
        f.QuestionAnswered: f.QuestionAnswered(1, "which?", "a", 7, "ann", 0, 1),
        f.RetryAdvised: f.RetryAdvised(1, 0, 1, retry=True),
        f.AttemptCancelRequested: f.AttemptCancelRequested(1, 0, 1, 1, 1, "key", "ann"),
        f.CommandLeftRunning: f.CommandLeftRunning(1, 0, 1),
        f.CleanupFinished: f.CleanupFinished(1, 0, 1),
        f.LooksRequested: f.LooksRequested(JobKind.REVISE, 1, 0, 1, 1, LOOKS),
        f.StepDetailed: f.StepDetailed(1, subtasks("a"), SUBTASK_PLANNER),
        f.StepsReplaced: f.StepsReplaced(1, (1,), (step(),), "ann"),
        f.LooksTaken: f.LooksTaken(JobKind.REVISE, 1, 0, 1, 1),
        f.WorkerLost: f.WorkerLost(JobKind.EXECUTE, 1, 0, 1, "w", LossSign.LEASE),
        f.DeliveryJudged: f.DeliveryJudged(1, 0, 1, "d", 1, Judgement("c", "t")),
        f.DeliveryReviewed: f.DeliveryReviewed(1, 0, 1, "d", approved=True, reviewer="m"),
        f.DeliveryAllowed: f.DeliveryAllowed(1, 0, 1, "d", 7, "ann"),
        f.DeliveryRejected: f.DeliveryRejected(1, 0, 1, "d", 7, "ann"),
        f.CheckpointRequested: f.CheckpointRequested("ann"),
        f.CheckpointFinished: f.CheckpointFinished(0, 0, "c", CheckpointEnding.COMPLETE),
        f.SessionClosed: f.SessionClosed("ann"),
        f.RunPaused: f.RunPaused("ann"),
    }
    after, decisions = advance(RunState(), told[fact])
    if fact in {f.RunStarted, f.CancelRequested}:
        assert after.phase in {RunPhase.RUNNING, RunPhase.CANCELLED}
        assert decisions
    else:
        assert (after, decisions) == (RunState(), ())


def test_a_run_cancelled_before_it_began_does_not_begin() -> None:
    """A start that comes after the cancellation is overtaken."""
    cancelled, _ = advance(RunState(), f.CancelRequested())
    after, decisions = advance(cancelled, f.RunStarted(submitted().state.policy, plan(step())))
    assert (after.phase, decisions) == (RunPhase.CANCELLED, ())


def test_a_run_is_started_once() -> None:
    """A second start changes nothing, whatever plan it brings."""
    run = running()
    before = run.state
    assert run.tell(f.RunStarted(before.policy, plan(step(1), step(2)))) == ()
    assert run.state is before


def test_a_fact_against_the_law_is_a_defect_that_tells_its_story() -> None:
    """A run cannot have begun while its task is still planned."""
    task = submitted()
    with pytest.raises(Defect, match="may not go from planning to running") as caught:
        task.tell(f.RunChanged(1, RunPhase.RUNNING))
    assert caught.value.stage == "advance"
    assert len(caught.value.story) == 2
    assert "RunChanged(run_id=1" in str(caught.value)


def test_a_fact_that_comes_where_the_law_has_no_place_for_it_is_a_defect() -> None:
    """A run cannot change before its task has so much as been submitted."""
    task = TaskState(runs={1: RunPhase.NOT_STARTED})
    with pytest.raises(Defect, match="may not come to a task that is submitted"):
        advance(task, f.RunChanged(1, RunPhase.CANCELLED))


def test_a_run_does_not_listen_to_facts_about_tasks_nor_a_task_to_facts_about_runs() -> None:
    """A report that was misdirected is a Defect, which is parked, not a crash."""
    states: list[tuple[Any, Any]] = [
        (running().state, f.PromptRefined("better")),
        (submitted().state, f.StepAbandoned(1)),
    ]
    for state, fact in states:
        with pytest.raises(Defect, match=type(fact).__name__):
            advance(state, fact)


@pytest.mark.parametrize(
    ("fact", "new", "legal"),
    [
        (f.StepAbandoned(1), StepPhase.ERROR, True),
        (f.StepAbandoned(1), StepPhase.DONE, False),
        (f.StepAbandoned(1), StepPhase.WAITING, False),  # accepted, yet not in the table
        (f.StepAbandoned(2), StepPhase.WAITING, True),  # about another step: it stays as it is
        (f.StepAbandoned(2), StepPhase.SKIPPED, False),
    ],
)
def test_rules_that_break_the_law_are_caught(fact: f.RunFact, new: StepPhase, legal: bool) -> None:
    """The table decides what may become of a step that waits, and of the one a fact is about."""
    run = running()
    run.pass_ends(Ending.NEEDS_APPROVAL)
    after = run.state.with_step(at(run.step(), new))
    if legal:
        hold_to_the_law(run.state, after, fact)
        return
    with pytest.raises(Defect, match=f"step 1 may not go from waiting to {new}"):
        hold_to_the_law(run.state, after, fact)


def test_a_step_waits_for_something_exactly_while_it_waits() -> None:
    """Neither a reason without waiting nor waiting without a reason can be made."""
    begun = running().step()
    with pytest.raises(Defect, match="is waiting and waits for None"):
        dataclasses.replace(begun, phase=StepPhase.WAITING)
    with pytest.raises(Defect, match="is ready and waits for approval"):
        dataclasses.replace(begun, waits_for=WaitsFor.APPROVAL)


def test_advance_refuses_a_step_that_moves_against_the_law() -> None:
    """A state that never came about lawfully: a step at rest although nothing holds it back."""
    run = running(step(1), step(2, depends_on=(1,)))
    free = dataclasses.replace(run.step(2), depends_on=())
    with pytest.raises(Defect, match="step 2 may not go from not_started to ready"):
        advance(run.state.with_step(free), f.PassStarted(1, 0, 1))


def test_an_answer_that_was_not_asked_for_leaves_a_finished_step_alone() -> None:
    """S1.15: nothing brings a finished step back."""
    run = running(step(1), step(2))
    run.pass_ends(Ending.DONE, 1)
    done = run.step(1)
    for fact in (
        f.StepRevised(1, 1, BY_HAND, subtasks("true")),
        f.RevisionRequested(1),
        f.StepAbandoned(1),
        f.OutcomeTold(1, 0, 1, Answer.AGAIN),
        f.CommandsApproved(1, 0, 1, 7, ()),
        f.ApprovalDenied(1, 0, 1, 7, "ann"),
        f.QuestionAnswered(1, "which?", "a", 7, "ann", 0, 1),
        f.RetryAdvised(1, 0, 1, retry=True),
        f.BundleReady(1, 0, 1, 7),
        f.BundleSent(1, 0, 1),
        f.StepHandedUp(1, 0, 1, PLANNER, "no"),
        f.PlanRevised(1, 0, 1, 2, (step(),)),
        f.PassFinished(1, 0, 1, Ending.THRESHOLD, 4),
        f.PassStarted(1, 0, 1),
        run.job_failure(JobKind.EXECUTE, "defect"),
        f.AttemptCancelRequested(1, 0, 1, 1, 1, "key", "ann"),
        f.CommandLeftRunning(1, 0, 1),
        f.CleanupFinished(1, 0, 1),
        run.job_failure(JobKind.CLEAN_UP),
        f.WorkerLost(JobKind.EXECUTE, 1, 0, 1, "w", LossSign.LEASE),
        f.WorkerLost(JobKind.CLEAN_UP, 1, 0, 1, "w", LossSign.LEASE),
    ):
        assert run.tell(fact) == ()
        assert run.step(1) is done


def test_deciding_does_not_change_the_state_it_is_given() -> None:
    """States are values: the same fact on the same state gives the same answer."""
    run = running(step(1), step(2, depends_on=(1,)))
    fact = run.pass_end(Ending.DONE)
    first = advance(run.state, fact)
    assert advance(run.state, fact) == first
    assert run.phase(1) is StepPhase.READY


def test_the_facts_of_a_run_retell_it() -> None:
    """`doctor` folds the recorded facts and finds the state that was stored."""
    run = running(step(1), step(2, depends_on=(1,)))
    run.escalates()
    run.is_revised()
    run.pass_ends()
    assert replay(RunState(), run.told) == run.state


def test_the_facts_of_a_task_retell_it() -> None:
    """The same for a task."""
    task = submitted()
    task.tell(f.PlanDrafted(plan(bare(1), step(2))))
    task.tell(f.StepDetailed(1, subtasks("true"), BY_HAND))
    task.runs_are(RunPhase.RUNNING)
    assert replay_task(TaskState(), task.told) == task.state


def test_jobs_are_withdrawn_before_new_ones_are_asked_for() -> None:
    """The store carries decisions out in order: the new job must not be withdrawn with the old."""
    run = running()
    run.pass_starts()
    for decided in (run.tell(f.RevisionRequested(1)), run.is_revised()):
        assert [type(decision) for decision in decided] == [
            CancelJobs,
            CloseInterventions,
            Enqueue,
        ]
