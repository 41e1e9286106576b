"""Who acts in the simulated world: workers who may fail, people who may want anything."""

import dataclasses
from datetime import UTC, datetime
from random import Random

from orchestrator.core.state import StepState, WaitsFor
from shared.domain import facts as f
from shared.domain.approval import Approval, ApprovalScope, plan_digest
from shared.domain.attempt import Answer
from shared.domain.budget import Ending
from shared.domain.jobs import JobKind
from shared.domain.plan import (
    PlanningRole,
)
from shared.domain.question import Question
from shared.domain.task import RunPhase, StepPhase, TaskPhase
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
from tests.unit.core.planners import changed_plan, detailed_plan, is_detailing
from tests.unit.core.world import HELD_UP, OpenJob, World

APPROVALS = (Approval("d", ApprovalScope.ONCE, "ann", datetime(2026, 1, 1, tzinfo=UTC)),)
MONEY = (WaitsFor.BUDGET, WaitsFor.SPENDING)
FAMILIES = ("transient", "transient", "unavailable", "rejected", "misconfigured", "defect")


def begin(rng: Random, *, echoing: bool) -> World:
    """A world in which a task has just been submitted."""
    world = World(rng, echoing=echoing, impatience=rng.choice([0.0, 0.1, 1.0]))
    given = some_plan(rng, complete=rng.random() < 0.6) if rng.random() < 0.6 else None
    runs = tuple(range(1, rng.randint(1, 2) + 1))
    world.submit(f.TaskSubmitted(some_policy(rng), runs, given))
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
    lose_worker(world, job)
    if job.kind is JobKind.EXECUTE and not job.started and rng.random() < 0.8:
        obliging_worker(world, job)
    elif rng.random() < (0.5 if job.kind is JobKind.ADVISE else 0.25):
        world.report(job, _failure(job, rng.choice(FAMILIES)))
    elif job.kind is JobKind.EXECUTE:
        ending = rng.choice([*Ending, Ending.CANCELLED, *[Ending.DONE] * 4])
        world.report(job, _pass_end(job, ending, rng.randint(0, 4)))
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


def _answer(  # noqa: C901 - one case a kind of job
    world: World, job: OpenJob, ending: Ending
) -> f.Fact:
    if looks(world, job):
        return look(world, job)
    match job.kind:
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
    return _pass_end(job, ending, 4 if ending is Ending.THRESHOLD else 0)


def _pass_end(job: OpenJob, ending: Ending, errors: int) -> f.PassFinished:
    assert job.step is not None
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
    if rng.random() < world.impatience:
        wishes += [(None, f.CancelRequested()), (run_id, f.CancelRequested())]
    for ordinal, state in steps.items():
        revised = f.StepRevised(ordinal, state.revision + 1, BY_HAND, subtasks("by hand"))
        wishes += [
            (run_id, revised),
            (run_id, f.RevisionRequested(ordinal, rng.choice(["", "look"]))),
            (run_id, f.StepAbandoned(ordinal)),
            (run_id, sent(state)),
        ]
        told = f.OutcomeTold(
            ordinal, state.revision, rng.randint(0, state.pass_no), rng.choice(list(Answer))
        )
        wishes.append((run_id, told))
        if state.waits_for is WaitsFor.OUTCOME:
            answered = dataclasses.replace(told, pass_no=state.pass_no)
            wishes += [(run_id, answered)] * 4
        settled = records_settled(rng, state)
        wishes += [(run_id, settled)] * (
            4 if state.waits_for is WaitsFor.RECORDS else rng.random() < 0.1
        )
        reply = replied(ordinal, state.pass_no, rng.choice(["which?", "when?"]))
        wishes += [(run_id, reply)] * (
            4 if state.waits_for is WaitsFor.ANSWER else rng.random() < 0.1
        )
        wishes += [(run_id, allowed(state, waits)) for waits in MONEY if waits is state.waits_for]
        for word in (approved(state, rng.randint(0, state.pass_no)), denied(state)):
            wishes += [(run_id, word)] * (5 if state.waits_for is WaitsFor.APPROVAL else 1)
        if state.phase in HELD_UP:
            wishes += [(run_id, f.StepAbandoned(ordinal))] * 4
        if state.phase is StepPhase.SKIPPED:
            wishes += [(run_id, revised), (run_id, f.ResumeRequested())] * 3
    world.post(*rng.choice(wishes))


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


def finish(world: World, strategy: str, *, bound: int = 2000) -> None:
    """Facts arrive, workers work, and a person answers what is asked, until nothing is left.

    `strategy` is what the person does about a step that waits: "resume" (or say how its command
    ended), "revise", "abandon" (in
    that world no pass succeeds any more), or "mixed": now this, now that, with some success. Now
    and then somebody thinks better of an end in error.
    """
    regretted = world.rng.random() < 0.4
    for _ in range(bound):
        if world.mail:
            world.deliver()
        elif world.echoes:
            world.fold(*world.echoes.pop())
        elif held_up(world) and world.rng.random() < 0.3:
            _answer_run(world, held_up(world)[0], strategy)
        elif world.jobs:
            world.check_at_rest()
            endings = {
                "abandon": [Ending.THRESHOLD],
                "mixed": [
                    Ending.DONE,
                    Ending.BLOCKED,
                    Ending.UNKNOWN,
                    Ending.NEEDS_APPROVAL,
                    Ending.NEEDS_INPUT,
                    Ending.FORGOTTEN,
                    Ending.OVER_BUDGET,
                ],
            }
            ending = world.rng.choice(endings.get(strategy, [Ending.DONE]))
            obliging_worker(world, next(iter(world.jobs.values())), ending=ending)
        elif world.ended():
            if regretted:
                meet_another_key(world)  # a worker that is late
                clean_up(world)
                return
            regretted = True
            _think_better_of_it(world)
        else:
            world.check_at_rest()
            _answer_what_is_asked(world, strategy)
    raise AssertionError(f"not ended after {bound} turns: {world.task} {world.runs}")


def _think_better_of_it(world: World) -> None:
    """What ended in error is taken up again, as a whole or at some step."""
    rng = world.rng
    for run_id, run in world.runs.items():
        if run.phase is not RunPhase.ERROR:
            continue
        lost = [s for s in run.steps.values() if s.phase in {StepPhase.ERROR, StepPhase.SKIPPED}]
        one = rng.choice(lost[-2:])
        revised = f.StepRevised(one.ordinal, one.revision + 1, BY_HAND, subtasks("by hand"))
        world.post(run_id, revised if rng.random() < 0.5 else f.ResumeRequested())


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


def _answer_what_is_asked(world: World, strategy: str) -> None:
    meet_another_key(world)
    if waiting := held_up(world):
        _answer_run(world, waiting[0], strategy)
        return
    assert world.task.phase is TaskPhase.WAITING, "nothing is asked and nothing goes on"
    if world.task.asking and world.rng.random() < 0.5:
        world.post(None, replied(None))
        return
    if world.task.plan is None:
        again = f.ResumeRequested() if world.task.unrefined and world.rng.random() < 0.3 else None
        world.post(None, again or f.PlanDrafted(some_plan(world.rng, complete=True)))
        return
    if unanswered := world.task.open_questions():
        world.post(None, replied(unanswered[0].ordinal))
        return
    missing = world.task.bare_steps()
    if not missing:
        world.post(None, plan_approved(world))
        return
    world.post(None, f.StepDetailed(missing[0], subtasks("by hand"), BY_HAND))


def held_up(world: World) -> list[int]:
    """The runs in which some step waits for a human."""
    return [
        run_id
        for run_id, run in world.runs.items()
        if any(step.phase in HELD_UP for step in run.steps.values())
    ]


def _answer_run(world: World, run_id: int, strategy: str) -> None:
    first = next(s for s in world.runs[run_id].steps.values() if s.phase in HELD_UP)
    if first.waits_for is WaitsFor.OUTCOME and strategy in {"resume", "mixed"}:
        answer = world.rng.choice(list(Answer))
        world.post(run_id, f.OutcomeTold(first.ordinal, first.revision, first.pass_no, answer))
        return
    if first.waits_for is WaitsFor.RECORDS and strategy in {"resume", "mixed"}:
        world.post(run_id, records_settled(world.rng, first))
        return
    if (
        first.waits_for is WaitsFor.APPROVAL
        and strategy in {"resume", "mixed"}
        and world.rng.random() < 0.7
    ):
        elsewhere = f.RevisionRequested(first.ordinal, "another way")
        words: list[f.RunFact] = [approved(first), denied(first), denied(first), elsewhere]
        words += [f.ResumeRequested(), f.ResumeRequested()]
        words.append(f.StepRevised(first.ordinal, first.revision + 1, BY_HAND, subtasks("mine")))
        world.post(run_id, world.rng.choice(words))
        return
    if first.waits_for is WaitsFor.ANSWER and strategy in {"resume", "mixed"}:
        asked = world.rng.choice(["which?", "when?"])
        world.post(run_id, replied(first.ordinal, first.pass_no, asked))
        return
    if first.waits_for in MONEY and strategy in {"resume", "mixed"}:
        world.post(run_id, allowed(first, first.waits_for))
        return
    if first.waits_for is WaitsFor.SENDING and strategy != "abandon" and world.rng.random() < 0.5:
        world.post(run_id, sent(first))
        return
    if strategy == "resume":
        world.post(run_id, f.ResumeRequested())
        return
    if strategy == "mixed":
        _answer_run(world, run_id, world.rng.choice(["resume", "revise", "abandon"]))
        return
    if strategy == "revise":
        author = BY_HAND if first.phase is StepPhase.BLOCKED else SUBTASK_PLANNER
        fact = f.StepRevised(first.ordinal, first.revision + 1, author, subtasks("by hand"))
        world.post(run_id, fact)
    else:
        world.post(run_id, f.StepAbandoned(first.ordinal))
