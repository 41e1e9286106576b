"""Who acts in a session: those who judge, review, allow and publish deliveries."""

from dataclasses import replace
from random import Random

from orchestrator.core.state import RunState, StepState, WaitsFor
from shared.domain import facts as f
from shared.domain.config import AT_END, BY_HAND, Policy
from shared.domain.delivery import CheckpointEnding, CheckpointPhase, Judgement, Published
from shared.domain.jobs import JobKind
from shared.domain.task import ENDED_RUN, ENDED_STEP, RunPhase
from tests.unit.core.deliveries import CONFLICT, RED, judged
from tests.unit.core.drawn import some_plan
from tests.unit.core.open_jobs import OpenJob
from tests.unit.core.world import World

REFUSALS = (CheckpointEnding.DIVERGED, CheckpointEnding.REFUSED)


def published(world: World, job: OpenJob) -> Published | None:
    """What a pass that succeeds has published; now and then it had nothing to deliver."""
    assert job.run is not None
    assert job.step is not None
    if world.rng.random() < 0.1:
        return None
    name = world.ledger.publish(job.run, job.step, job.pass_no)
    reviewed, allowed = world.rng.random() < 0.3, world.rng.random() < 0.3
    return Published(name, reviewed=reviewed, allowed=allowed)


def publish_unheard(world: World, job: OpenJob) -> None:
    """A worker publishes, and is lost before it can tell of it."""
    if world.delivers and job.kind is JobKind.EXECUTE and world.rng.random() < 0.2:
        assert job.run is not None
        assert job.step is not None
        world.ledger.publish(job.run, job.step, job.pass_no)


def session_answer(world: World, job: OpenJob) -> f.RunFact:
    """What comes of judging, reviewing or publishing; the worker saw what was when it was asked."""
    rng = world.rng
    if job.kind is JobKind.CHECKPOINT:
        ending = CheckpointEnding.COMPLETE if rng.random() < 0.8 else rng.choice(REFUSALS)
        assert job.head is not None
        ahead = "+another's" if rng.random() < 0.2 else ""
        head = job.head + ahead
        return f.CheckpointFinished(job.pass_no, job.accepted, head, ending, "so it went")
    assert job.step is not None
    acceptance = job.acceptance
    assert acceptance is not None
    place = job.step, job.revision, job.pass_no, acceptance.published.delivery
    if job.kind is JobKind.REVIEW:
        return f.DeliveryReviewed(*place, rng.random() < 0.7, "model", "so it says")
    return f.DeliveryJudged(*place, acceptance.turn, _judgement(rng, job))


def _judgement(rng: Random, job: OpenJob) -> Judgement:
    assert job.acceptance is not None
    assert job.acceptance.line is not None
    if rng.random() < 0.75:
        return judged(job.acceptance.line, job.acceptance.published.delivery)
    return rng.choice([RED, CONFLICT])


def session_wishes(world: World, run_id: int) -> list[tuple[int | None, f.Fact]]:
    """What a person may want of a session, whether it makes sense now or not."""
    run, rng = world.runs[run_id], world.rng
    wishes: list[tuple[int | None, f.Fact]] = [(run_id, f.CheckpointRequested("ann"))]
    if rng.random() < 0.2:
        wishes.append((run_id, f.RunPaused("ann")))
    if run.held_open:
        wishes += [(run_id, more_steps(rng, run)), (run_id, f.SessionClosed("ann"))]
    for ordinal, step in run.steps.items():
        wishes.append((run_id, f.ResumeRequested(ordinal)))
        if step.acceptance is not None:
            wishes += [(run_id, said(rng, step))] * (
                4 if step.waits_for is WaitsFor.ACCEPTANCE else 1
            )
    return wishes


def more_steps(rng: Random, run: RunState) -> f.StepsReplaced:
    """A person adds steps to a session that is held open."""
    steps = tuple(replace(s, ask_question="") for s in some_plan(rng, complete=True).steps[:2])
    return f.StepsReplaced(max(run.steps, default=0), (), steps, "ann")


def said(rng: Random, step: StepState) -> f.DeliveryAllowed | f.DeliveryRejected:
    """A person's word for a delivery, or against it."""
    assert step.acceptance is not None
    place = step.ordinal, step.revision, step.pass_no, step.acceptance.published.delivery
    if rng.random() < 0.7:
        return f.DeliveryAllowed(*place, 7, "ann")
    return f.DeliveryRejected(*place, 7, "ann", "not like this")


def move_on(world: World) -> bool:
    """A person does what a session at rest waits for; False if none does."""
    for run_id, run in world.runs.items():
        if run.phase in ENDED_RUN | {RunPhase.NOT_STARTED}:
            continue
        if run.checkpoint.phase in {CheckpointPhase.WAITING, CheckpointPhase.HELD}:
            world.post(run_id, f.CheckpointRequested("ann"))
        elif run.paused:
            world.post(run_id, f.ResumeRequested())
        elif run.held_open and all(s.phase in ENDED_STEP for s in run.steps.values()):
            more = world.rng.random() < 0.3
            fact = more_steps(world.rng, run) if more else f.SessionClosed("ann")
            world.post(run_id, fact)
        else:
            continue
        return True
    return False


def delivering(rng: Random, policy: Policy) -> Policy:
    """The policy as a session has it, with small numbers."""
    return replace(
        policy,
        deliver=True,
        max_delivery_attempts=rng.randint(1, 3),
        checkpoint=rng.choice([AT_END, AT_END, BY_HAND]),
        accept_at_once=rng.randint(1, 3),
    )
