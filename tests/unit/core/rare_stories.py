"""Stories that chance tells too seldom: each is folded into a world that keeps all its promises."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from orchestrator.core.state import RunState, TaskState
from shared.domain import facts as f
from shared.domain.budget import Ending
from shared.domain.config import ASK, IN_TURN, MODEL, Policy
from shared.domain.delivery import Line, Published
from shared.domain.jobs import JobKind
from shared.domain.plan import OnFailure, Recovery, Step
from tests.unit.core.actors import APPROVALS
from tests.unit.core.deliveries import bundle, judged
from tests.unit.core.given import BY_HAND, PLANNER, SUBTASK_PLANNER, bare, plan, step, subtasks
from tests.unit.core.world import World

POLICY = Policy(autonomy=ASK, detail_steps=IN_TURN, retry_strategy=MODEL)
SESSION = replace(POLICY, deliver=True, max_delivery_attempts=1, human_escalation_threshold=0)


def rare_stories() -> Iterator[World]:
    """A world for each story."""
    careless = step(1, recovery=Recovery.RETRY, on_failure=OnFailure.CONTINUE)
    for kind in (step, bare):
        third = kind(3, depends_on=(2,))
        for word in _words():
            yield _world((step(1), step(2), third), *_held_up_by_an_approval(), word)
        yield _world((careless, kind(2, depends_on=(1,))), *_advised_against())
    yield _world((careless, bare(2, depends_on=(1,))), *_needed_after_all())
    for beside in (_detailing(), _waiting(), _skipped()):
        for asks in ("", "which?"):
            yield _world(*beside, *_changed_plan(asks))

    yield from _replaced()
    for kind in (step, bare):
        yield _world((careless, kind(2, depends_on=(1,))), *_rejected_in_the_end(), policy=SESSION)
    yield _world((step(1),), *_cancelled_while_it_publishes(), policy=SESSION)


def _replaced() -> Iterator[World]:
    """A person changes what remains, whatever has become of it."""
    steps = (step(1), bare(2), step(3, depends_on=(1,)), step(4), step(5), step(6, depends_on=(5,)))
    told = (
        f.PassFinished(4, 0, 1, Ending.BLOCKED, 1),
        f.PassFinished(5, 0, 1, Ending.BLOCKED, 1),
        f.StepAbandoned(5),
        f.StepRevised(3, 1, BY_HAND, subtasks("by hand")),
        f.RevisionRequested(1),
    )
    waits = f.JobFailed(JobKind.DETAIL, 2, 0, 0, "misconfigured", "detail", "no key")
    new = (step(1), bare(2), step(3, depends_on=(1,)))
    for last in ((), (waits,)):
        fact = f.StepsReplaced(6, (2, 4, 5, 6), new, "ann")
        yield _world(steps, *told, *last, fact, fact)
    yield _world((step(1), step(2, depends_on=(1,))), f.StepsReplaced(2, (2,), new, "ann"))


def _world(steps: tuple[Step, ...], *facts: f.RunFact, policy: Policy = POLICY) -> World:
    world = World(Random(1))  # noqa: S311 - nothing is drawn
    world.task = TaskState(policy=policy)
    world.runs[1] = RunState(id=1)
    for fact in (f.RunStarted(policy, plan(*steps)), *facts):
        if isinstance(fact, f.PassFinished) and fact.published is not None:
            world.ledger.publish(1, fact.step, fact.pass_no)
        if isinstance(fact, f.JobFailed):
            world.jobs.pop((1, fact.step, fact.kind), None)
        world.fold(1, fact)
    return world


def _cancelled_while_it_publishes() -> tuple[f.RunFact, ...]:
    """And its checkpoint fails after that."""
    name = bundle(1, 1, 1)
    return (
        f.PassFinished(1, 0, 1, Ending.DONE, 0, published=Published(name)),
        f.DeliveryJudged(1, 0, 1, name, 1, judged(Line(), name)),
        f.CancelRequested(),
        f.JobFailed(JobKind.CHECKPOINT, None, 0, 1, "transient", "publish", "no route"),
    )


def _rejected_in_the_end() -> tuple[f.RunFact, ...]:
    """A person rejects what step 1 delivers, and the plan can do without it."""
    name = bundle(1, 1, 1)
    return (
        f.PassFinished(1, 0, 1, Ending.DONE, 0, published=Published(name, allowed=True)),
        f.DeliveryJudged(1, 0, 1, name, 1, judged(Line(), name)),
        f.DeliveryRejected(1, 0, 1, name, 7, "ann"),
    )


def _held_up_by_an_approval() -> tuple[f.RunFact, ...]:
    """Step 1 waits for a person, and so does whatever follows step 2."""
    return (
        f.PassStarted(1, 0, 1),
        f.PassStarted(2, 0, 1),
        f.PassFinished(1, 0, 1, Ending.NEEDS_APPROVAL, 0),
        f.PassFinished(2, 0, 1, Ending.DONE, 0),
    )


def _words() -> tuple[f.RunFact, ...]:
    """Everything that ends the wait of step 1."""
    return (
        f.CommandsApproved(1, 0, 1, 7, APPROVALS),
        f.ApprovalDenied(1, 0, 1, 7, "ann", "look"),
        f.RevisionRequested(1, "another way"),
        f.StepRevised(1, 1, BY_HAND, subtasks("by hand")),
        f.ResumeRequested(),
    )


def _advised_against() -> tuple[f.RunFact, ...]:
    """Step 1 fails, and its planner sees no use in another try."""
    return (
        f.PassStarted(1, 0, 1),
        f.PassFinished(1, 0, 1, Ending.THRESHOLD, 4),
        f.BundleReady(1, 0, 1, 7),
        f.RetryAdvised(1, 0, 1, retry=False),
    )


def _needed_after_all() -> tuple[f.RunFact, ...]:
    """Step 2 goes on without step 1, which is resumed while 2 is detailed, and then cancelled."""
    return (
        *_advised_against(),
        f.ResumeRequested(),
        f.PassFinished(1, 0, 2, Ending.CANCELLED, 0),
        f.StepDetailed(2, subtasks("a"), SUBTASK_PLANNER),
    )


def _detailing() -> tuple[tuple[Step, ...], f.RunFact]:
    return (step(1), bare(2)), f.PassStarted(1, 0, 1)


def _waiting() -> tuple[tuple[Step, ...], f.RunFact]:
    """Nobody could detail step 2."""
    failed = f.JobFailed(JobKind.DETAIL, 2, 0, 0, "misconfigured", "detail", "no key")
    return (step(1), bare(2)), failed


def _skipped() -> tuple[tuple[Step, ...], f.RunFact, f.RunFact, f.RunFact]:
    """Step 2 was given up, and step 3 with it."""
    steps = (step(1), step(2), step(3, depends_on=(2,)))
    blocked = f.PassFinished(2, 0, 1, Ending.BLOCKED, 1)
    return steps, f.PassStarted(2, 0, 1), blocked, f.StepAbandoned(2)


def _changed_plan(asks: str) -> tuple[f.RunFact, ...]:
    """The plan is changed from step 1 on, at once or after an answer."""
    last = 3
    changed = (step(1, ask_question=asks),)
    facts: tuple[f.RunFact, ...] = (
        f.RevisionRequested(1),
        f.BundleReady(1, 0, 1, 7),
        f.StepHandedUp(1, 0, 1, PLANNER, "no such thing"),
        f.PlanRevised(1, 0, 1, last, changed, "another way"),
        f.PlanRevised(1, 0, 1, last - 1, changed, "another way"),
    )
    return (*facts, f.QuestionAnswered(1, asks, "a", 7, "ann", 0, 1)) if asks else facts
