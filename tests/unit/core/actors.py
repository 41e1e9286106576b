"""Who acts in the simulated world: workers who may fail, people who may want anything."""

import dataclasses
from datetime import UTC, datetime
from random import Random

from orchestrator.core.state import StepState, WaitsFor
from shared.domain import facts as f
from shared.domain.approval import Approval, ApprovalScope, plan_digest
from shared.domain.attempt import Answer
from shared.domain.author import PlanningRole
from shared.domain.budget import Ending
from shared.domain.jobs import JobKind
from shared.domain.plan import Plan
from shared.domain.question import Question
from shared.domain.task import StepPhase
from tests.unit.core.accidents import cancel_attempt, lose_worker, meet_another_key
from tests.unit.core.drawn import (
    allowed,
    other_limits,
    records_settled,
    some_plan,
    some_policy,
    unpaid_call,
)
from tests.unit.core.given import BY_HAND, PLANNER, SUBTASK_PLANNER, subtasks
from tests.unit.core.lookers import look, looks
from tests.unit.core.open_jobs import OpenJob
from tests.unit.core.planners import changed_plan, detailed_plan, is_detailing
from tests.unit.core.session_actors import (
    delivering,
    publish_unheard,
    published,
    session_answer,
    session_wishes,
)
from tests.unit.core.world import HELD_UP, World

APPROVALS = (Approval("d", ApprovalScope.ONCE, "ann", datetime(2026, 1, 1, tzinfo=UTC)),)
MONEY = (WaitsFor.BUDGET, WaitsFor.SPENDING)
FAMILIES = ("transient", "transient", "unavailable", "rejected", "misconfigured", "defect")


def begin(rng: Random, *, echoing: bool, delivers: bool = False) -> World:
    """A world in which a task has just been submitted."""
    impatience = rng.choice([0.0, 0.1, 1.0])
    world = World(rng, echoing=echoing, impatience=impatience, delivers=delivers)
    given = some_plan(rng, complete=rng.random() < 0.6) if rng.random() < 0.6 else None
    runs = tuple(range(1, rng.randint(1, 2) + 1))
    policy = some_policy(rng)
    if delivers:
        policy = delivering(rng, policy)
        given = Plan(()) if rng.random() < 0.15 else given
    world.submit(f.TaskSubmitted(policy, runs, given))
    if rng.random() < 0.02:
        world.mail.appendleft((None, f.CancelRequested()))
    for run in runs:
        if rng.random() < 0.08:
            world.post(run, f.CancelRequested())
    return world


def anything(world: World) -> None:
    """One thing happens, whatever it may be."""
    rng = world.rng
    if world.mail and rng.random() < 0.6:
        world.deliver()
    elif world.echoes and rng.random() < 0.3:
        world.echo()
    elif world.jobs and rng.random() < 0.65:
        erratic_worker(world, rng.choice(_jobs_at_hand(world)))
    else:
        erratic_person(world)


def _jobs_at_hand(world: World) -> list[OpenJob]:
    """The open jobs; details in a run take long, so that much happens beside them."""
    jobs = list(world.jobs.values())
    quick = [job for job in jobs if job.kind is not JobKind.DETAIL or job.run is None]
    return quick if quick and world.rng.random() < 0.7 else jobs


def erratic_worker(world: World, job: OpenJob) -> None:
    """A worker takes a job, does it well or badly, or is lost."""
    rng = world.rng
    meet_another_key(world)
    clean_up(world)
    cancel_attempt(world, job)
    publish_unheard(world, job)
    lose_worker(world, job)
    if job.kind is JobKind.EXECUTE and not job.started and rng.random() < 0.8:
        obliging_worker(world, job)
    elif rng.random() < (0.5 if job.kind is JobKind.ADVISE else 0.25):
        world.report(job, _failure(job, rng.choice(FAMILIES)))
    elif job.kind is JobKind.EXECUTE:
        endings = [each for each in Ending if world.delivers or each is not Ending.REFUSED]
        ending = rng.choice([*endings, Ending.CANCELLED, *[Ending.DONE] * 4])
        world.report(job, _pass_end(world, job, ending, rng.randint(0, 4)))
    else:
        obliging_worker(world, job)


def obliging_worker(world: World, job: OpenJob, *, ending: Ending = Ending.DONE) -> None:
    """A worker does what it was asked; a pass is first begun, then ended."""
    if job.kind is JobKind.EXECUTE and not job.started:
        assert job.step is not None
        job.started = True
        world.tell_of(job, f.PassStarted(job.step, job.revision, job.pass_no))
        return
    world.report(job, _answer(world, job, ending))


def _answer(  # noqa: C901, PLR0912 - one case a kind of job
    world: World, job: OpenJob, ending: Ending
) -> f.Fact:
    match job.kind:
        case JobKind.ACCEPT | JobKind.REVIEW | JobKind.CHECKPOINT:
            return session_answer(world, job)
        case _ if looks(world, job):
            return look(world, job)
        case JobKind.REFINE:
            if world.rng.random() < 0.3:
                return f.QuestionAsked(Question("which?", ("a", "b")))
            return f.PromptRefined("better")
        case JobKind.PLAN:
            return f.PlanDrafted(some_plan(world.rng, complete=False))
    assert job.step is not None
    match job.kind:
        case JobKind.DETAIL if is_detailing(world, job):
            return f.StepDetailed(job.step, subtasks("a"), SUBTASK_PLANNER)
        case JobKind.DETAIL if job.run is not None:
            return detailed_plan(world, job)
        case JobKind.DETAIL:
            return f.StepDetailed(job.step, subtasks("a", "b"), SUBTASK_PLANNER)
        case JobKind.GATHER:
            return f.BundleReady(job.step, job.revision, job.pass_no, 7)
        case JobKind.REPLAN:
            return changed_plan(world, job)
        case JobKind.REVISE if world.rng.random() < 0.5:
            planner = world.rng.choice([PLANNER, PLANNER, BY_HAND])
            return f.StepHandedUp(job.step, job.revision, job.pass_no, planner, "no such thing")
        case JobKind.REVISE:
            author = PLANNER if job.role is PlanningRole.PLANNER else SUBTASK_PLANNER
            return f.StepRevised(job.step, job.revision + 1, author, subtasks("again"))
        case JobKind.ADVISE:
            retry = world.rng.random() < 0.5
            return f.RetryAdvised(job.step, job.revision, job.pass_no, retry, 1.0)
    return _pass_end(world, job, ending, 4 if ending is Ending.THRESHOLD else 0)


def _pass_end(world: World, job: OpenJob, ending: Ending, errors: int) -> f.PassFinished:
    assert job.step is not None
    if world.delivers and ending is Ending.DONE and (delivery := published(world, job)):
        place = job.step, job.revision, job.pass_no
        return f.PassFinished(*place, ending, errors, published=delivery)
    asked = Question("which?") if ending is Ending.NEEDS_INPUT and errors else None
    unpaid = unpaid_call(job.pass_no) if ending is Ending.OVER_BUDGET else None
    place = job.step, job.revision, job.pass_no
    return f.PassFinished(*place, ending, errors, question=asked, unpaid=unpaid)


def _failure(job: OpenJob, family: str) -> f.JobFailed:
    return f.JobFailed(
        kind=job.kind,
        step=job.step,
        revision=job.revision,
        pass_no=job.pass_no,
        family=family,
        stage="test",
        reason=f"{family} trouble",
        postponed=job.postponed,
    )


def erratic_person(world: World) -> None:
    """Somebody asks for something, whether it makes sense now or not."""
    rng = world.rng
    run_id = rng.choice(list(world.runs))
    steps = world.runs[run_id].steps
    wishes: list[tuple[int | None, f.Fact]] = [
        (None, f.ResumeRequested()),
        (run_id, f.ResumeRequested()),
        (None, f.PlanDrafted(some_plan(rng, complete=rng.random() < 0.5))),
        (None, f.StepDetailed(rng.randint(1, 4), subtasks("by hand"), BY_HAND)),
    ]
    if rng.random() < 0.15:
        wishes.append((None, f.PolicyChanged(other_limits(rng))))
    if world.task.asking or world.task.open_questions() or rng.random() < 0.1:
        wishes += [(None, replied(asked)) for asked in (None, 1, 2)]
    if world.task.plan is not None:
        wishes += [(None, plan_approved(world))] * 3
    if world.delivers:
        wishes += session_wishes(world, run_id)
    if rng.random() < world.impatience:
        wishes += [(None, f.CancelRequested()), (run_id, f.CancelRequested())]
    for state in steps.values():
        wishes += [(run_id, fact) for fact in _wishes_for(rng, state)]
    world.post(*rng.choice(wishes))


def _wishes_for(rng: Random, state: StepState) -> list[f.RunFact]:
    """What somebody may want of a step, whether it makes sense now or not."""
    ordinal = state.ordinal
    revised = f.StepRevised(ordinal, state.revision + 1, BY_HAND, subtasks("by hand"))
    wishes: list[f.RunFact] = [
        revised,
        f.RevisionRequested(ordinal, rng.choice(["", "look"])),
        f.StepAbandoned(ordinal),
        sent(state),
    ]
    told = f.OutcomeTold(
        ordinal, state.revision, rng.randint(0, state.pass_no), rng.choice(list(Answer))
    )
    wishes.append(told)
    if state.waits_for is WaitsFor.OUTCOME:
        wishes += [dataclasses.replace(told, pass_no=state.pass_no)] * 4
    settled = records_settled(rng, state)
    wishes += [settled] * (4 if state.waits_for is WaitsFor.RECORDS else rng.random() < 0.1)
    reply = replied(ordinal, state.pass_no, rng.choice(["which?", "when?"]))
    wishes += [reply] * (4 if state.waits_for is WaitsFor.ANSWER else rng.random() < 0.1)
    wishes += [allowed(state, waits) for waits in MONEY if waits is state.waits_for]
    for word in (approved(state, rng.randint(0, state.pass_no)), denied(state)):
        wishes += [word] * (5 if state.waits_for is WaitsFor.APPROVAL else 1)
    if state.phase in HELD_UP:
        wishes += [f.StepAbandoned(ordinal)] * 4
    if state.phase is StepPhase.SKIPPED:
        wishes += [revised, f.ResumeRequested()] * 3
    return wishes


def approved(step: StepState, pass_no: int | None = None) -> f.CommandsApproved:
    """A person's word for what a step had asked for."""
    asked_in = step.pass_no if pass_no is None else pass_no
    return f.CommandsApproved(step.ordinal, step.revision, asked_in, 7, APPROVALS)


def replied(step: int | None, pass_no: int = 0, question: str = "which?") -> f.QuestionAnswered:
    """A person's answer to a question."""
    return f.QuestionAnswered(step, question, "a", 7, "ann", pass_no=pass_no)


def sent(step: StepState) -> f.BundleSent:
    """A person sends the evidence of a step as it is."""
    return f.BundleSent(step.ordinal, step.revision, step.pass_no, "have a look")


def denied(step: StepState) -> f.ApprovalDenied:
    """A person's no to what a step had asked for."""
    return f.ApprovalDenied(step.ordinal, step.revision, step.pass_no, 7, "ann", "look")


def plan_approved(world: World) -> f.PlanApproved:
    """A person's word for the plan as it stands."""
    assert world.task.plan is not None
    return f.PlanApproved(plan_digest(world.task.plan), "ann", APPROVALS)


def clean_up(world: World) -> None:
    """What cancelled steps left running is found and ended, of every second step in vain.

    Nothing else depends on it: it is folded in at once, and nothing is drawn for it.
    """
    for run_id, run in world.runs.items():
        for step in run.steps.values():
            if (run_id, step.ordinal) in world.left_running:
                _clean_up_step(world, run_id, step)


def _clean_up_step(world: World, run_id: int, step: StepState) -> None:
    place = run_id, step.ordinal
    told = f.CommandLeftRunning(step.ordinal, step.revision, step.pass_no)
    world.fold(run_id, told)
    world.fold(run_id, told)  # the sweeper may tell it again
    while (job := world.jobs.get((*place, JobKind.CLEAN_UP))) is not None:
        lose_worker(world, job)
        del world.jobs[*place, JobKind.CLEAN_UP]
        if step.ordinal % 2:
            ended = f.CleanupFinished(step.ordinal, job.revision, job.pass_no, job.postponed)
            world.left_running.discard(place)
            world.fold(run_id, ended)
        else:
            world.fold(run_id, _failure(job, FAMILIES[job.postponed % len(FAMILIES)]))
    assert place not in world.left_running, "a command runs on and nobody knows of it"
