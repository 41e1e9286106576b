"""When what a session has accepted is published, and what follows from that.

A checkpoint belongs to a run, not to a step: its job has none, and its number stands where a pass
has its own.
"""

from dataclasses import replace

from orchestrator.core.decisions import (
    CloseInterventions,
    Decision,
    Enqueue,
    FreeJob,
    InterventionKind,
    OpenIntervention,
    SettleDelivery,
)
from orchestrator.core.retry_rules import put_off
from orchestrator.core.state import RunState
from shared.domain.budget import may_postpone
from shared.domain.config import AT_END
from shared.domain.delivery import Checkpoint, CheckpointEnding, CheckpointPhase, DeliveryStatus
from shared.domain.delivery_facts import CheckpointFinished, CheckpointRequested
from shared.domain.facts import JobFailed, WorkerLost
from shared.domain.jobs import JobKind
from shared.domain.next_step import Advice
from shared.domain.task import StepPhase

CheckpointFact = CheckpointRequested | CheckpointFinished | JobFailed | WorkerLost
Advance = tuple[RunState, tuple[Decision, ...]]

BUSY = frozenset(
    {
        StepPhase.READY,
        StepPhase.RUNNING,
        StepPhase.DETAILING,
        StepPhase.REPLANNING,
        StepPhase.ACCEPTING,
    }
)
"""The phases in which something goes on by itself."""


def is_about_checkpoint(fact: object) -> bool:
    """Whether the fact tells of a checkpoint."""
    if isinstance(fact, JobFailed | WorkerLost):
        return fact.kind is JobKind.CHECKPOINT
    return isinstance(fact, CheckpointRequested | CheckpointFinished)


def overtaken_checkpoint(state: RunState, fact: CheckpointFact) -> bool:
    """Whether another checkpoint is at hand, or there is nothing to publish."""
    present = state.checkpoint
    under_way = present.phase is CheckpointPhase.UNDER_WAY
    match fact:
        case CheckpointRequested():
            return not has_unpublished(state) or present.wanted
        case CheckpointFinished():
            return not under_way or present.number != fact.number
        case JobFailed():
            other = present.number != fact.pass_no or present.postponed != fact.postponed
            return not under_way or other
        case WorkerLost():
            return not under_way or present.number != fact.pass_no


def after_checkpoint(state: RunState, fact: CheckpointFact) -> Advance:
    """Follow what was said about a checkpoint."""
    match fact:
        case CheckpointRequested():
            return want_checkpoint(state)
        case CheckpointFinished():
            return _finish(state, fact)
        case JobFailed():
            return _put_off_or_wait(state, fact)
        case WorkerLost():
            return state, (FreeJob(JobKind.CHECKPOINT, None),)


def want_checkpoint(state: RunState) -> Advance:
    """Have it published as soon as possible, because a person wants it."""
    waits = state.checkpoint.phase is CheckpointPhase.WAITING
    phase = CheckpointPhase.IDLE if waits else state.checkpoint.phase
    wanted = replace(state.checkpoint, phase=phase, wanted=True, postponed=0)
    return replace(state, checkpoint=wanted), (_close(),)


def drive_checkpoint(state: RunState) -> Advance:
    """Publish once it is wanted, or once nothing more goes on by itself."""
    present = state.checkpoint
    if present.phase is not CheckpointPhase.IDLE or not has_unpublished(state):
        return state, ()
    idle = BUSY.isdisjoint(step.phase for step in state.steps.values())
    if present.wanted or (idle and state.policy.checkpoint == AT_END):
        begun = Checkpoint(present.number + 1, CheckpointPhase.UNDER_WAY)
        return replace(state, checkpoint=begun), (_job(begun),)
    if idle:
        return _wait(state, "what was accepted is not published yet", stage="checkpoint")
    return state, ()


def has_unpublished(state: RunState) -> bool:
    """Whether something was accepted that no checkpoint has published."""
    return any(step.phase is StepPhase.ACCEPTED for step in state.steps.values())


def _finish(state: RunState, fact: CheckpointFinished) -> Advance:
    if fact.ending is not CheckpointEnding.COMPLETE:
        return _wait(state, fact.reason, stage="checkpoint")
    idle = replace(state.checkpoint, phase=CheckpointPhase.IDLE, postponed=0)
    head = fact.head if fact.accepted == state.accepted else state.head
    state = replace(state, checkpoint=idle, head=head)
    decisions: list[Decision] = [_close()]
    for step in state.steps.values():
        if step.phase is StepPhase.ACCEPTED and step.accepted_as <= fact.accepted:
            state = state.with_step(replace(step, phase=StepPhase.DONE))
            decisions.append(SettleDelivery(step.ordinal, DeliveryStatus.CHECKPOINTED))
    return state, tuple(decisions)


def _put_off_or_wait(state: RunState, fact: JobFailed) -> Advance:
    present = state.checkpoint
    if may_postpone(fact.family, present.postponed, state.policy):
        later = replace(present, postponed=present.postponed + 1)
        delay = put_off(state.policy, fact, later.postponed, state.id, 0)
        again = replace(_job(later), delay=delay, postponed=later.postponed)
        return replace(state, checkpoint=later), (again,)
    return _wait(state, fact.reason, stage=fact.stage, next_step=fact.next_step)


def _wait(state: RunState, reason: str, *, stage: str, next_step: Advice | None = None) -> Advance:
    waiting = replace(state.checkpoint, phase=CheckpointPhase.WAITING, postponed=0)
    opened = OpenIntervention(InterventionKind.CHECKPOINT, None, reason, stage, next_step)
    return replace(state, checkpoint=waiting), (opened,)


def _job(checkpoint: Checkpoint) -> Enqueue:
    return Enqueue(JobKind.CHECKPOINT, None, pass_no=checkpoint.number)


def _close() -> CloseInterventions:
    return CloseInterventions(kind=InterventionKind.CHECKPOINT)
