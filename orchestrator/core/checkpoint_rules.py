"""When what a session has accepted is published, and what follows from that.

A checkpoint belongs to a run, not to a step: its job has none, and its number stands where a pass
has its own.
"""

from dataclasses import replace

from orchestrator.core.decisions import (
    CloseInterventions,
    Decision,
    EndCheckpoint,
    Enqueue,
    FreeJob,
    OpenIntervention,
    SettleDelivery,
)
from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.core.retry_rules import put_off
from orchestrator.core.state import RunState
from shared.domain.budget import may_postpone
from shared.domain.config import AT_END
from shared.domain.delivery import Checkpoint, CheckpointEnding, CheckpointPhase, DeliveryStatus
from shared.domain.delivery_facts import CheckpointFinished, CheckpointRequested
from shared.domain.facts import JobFailed, WorkerLost
from shared.domain.jobs import JobKind
from shared.domain.next_step import Advice
from shared.domain.task import RunPhase, StepPhase

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
            covered = under_way and present.accepted == state.accepted
            return not has_unpublished(state) or present.wanted or covered
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
    wanted = replace(state.checkpoint, wanted=True)
    if wanted.phase in {CheckpointPhase.WAITING, CheckpointPhase.HELD}:
        wanted = replace(wanted, phase=CheckpointPhase.IDLE)
    return replace(state, checkpoint=wanted), (_close(),)


def resume_checkpoint(state: RunState) -> Advance:
    """Try again what did not complete; what is held is not published, but asked about anew."""
    match state.checkpoint.phase:
        case CheckpointPhase.WAITING:
            return want_checkpoint(state)
        case CheckpointPhase.HELD:
            idle = replace(state.checkpoint, phase=CheckpointPhase.IDLE)
            return replace(state, checkpoint=idle), (_close(),)
        case _:
            return state, ()


def cancel_checkpoint(state: RunState) -> Advance:
    """End what waits for an operator; one under way comes to its end, and its end is heard.

    It may have reached the remote, which only its worker can find out.
    """
    present = state.checkpoint
    if present.phase is CheckpointPhase.UNDER_WAY:
        return replace(state, checkpoint=replace(present, wanted=False)), ()
    idle = replace(state, checkpoint=Checkpoint(present.number))
    if present.phase is not CheckpointPhase.WAITING:
        return idle, ()
    return idle, (EndCheckpoint(present.number, "the session was cancelled"),)


def drive_checkpoint(state: RunState) -> Advance:
    """Publish once it is wanted, or once nothing more goes on by itself."""
    present = state.checkpoint
    if present.phase is not CheckpointPhase.IDLE or not has_unpublished(state):
        return state, ()
    idle = BUSY.isdisjoint(step.phase for step in state.steps.values())
    if present.wanted or (idle and state.policy.checkpoint == AT_END):
        begun = Checkpoint(present.number + 1, CheckpointPhase.UNDER_WAY, accepted=state.accepted)
        return replace(state, checkpoint=begun), (_job(begun),)
    if idle:
        return _wait(
            state,
            "what was accepted is not published yet",
            stage="checkpoint",
            phase=CheckpointPhase.HELD,
        )
    return state, ()


def has_unpublished(state: RunState) -> bool:
    """Whether something was accepted that no checkpoint has published."""
    return any(step.phase is StepPhase.ACCEPTED for step in state.steps.values())


def _finish(state: RunState, fact: CheckpointFinished) -> Advance:
    if fact.ending is not CheckpointEnding.COMPLETE:
        if state.phase is RunPhase.CANCELLED:
            return replace(state, checkpoint=Checkpoint(fact.number)), ()
        return _wait(state, fact.reason, stage="checkpoint")
    head = fact.head if fact.accepted == state.accepted else state.head
    state = replace(state, head=head)
    decisions: list[Decision] = [_close()]
    for step in state.steps.values():
        if not 0 < step.accepted_as <= fact.accepted:
            continue
        if step.phase is StepPhase.ACCEPTED:
            state = state.with_step(replace(step, phase=StepPhase.DONE))
        if step.phase in {StepPhase.ACCEPTED, StepPhase.CANCELLED}:
            decisions.append(SettleDelivery(step.ordinal, DeliveryStatus.CHECKPOINTED))
    wanted = state.checkpoint.wanted and has_unpublished(state)
    idle = Checkpoint(state.checkpoint.number, wanted=wanted)
    return replace(state, checkpoint=idle), tuple(decisions)


def _put_off_or_wait(state: RunState, fact: JobFailed) -> Advance:
    present = state.checkpoint
    if state.phase is RunPhase.CANCELLED:
        ended = EndCheckpoint(present.number, f"the session was cancelled; {fact.reason}")
        return replace(state, checkpoint=Checkpoint(present.number)), (ended,)
    if may_postpone(fact.family, present.postponed, state.policy):
        later = replace(present, postponed=present.postponed + 1)
        delay = put_off(state.policy, fact, later.postponed, state.id, 0)
        again = replace(_job(later), delay=delay, postponed=later.postponed)
        return replace(state, checkpoint=later), (again,)
    return _wait(state, fact.reason, stage=fact.stage, next_step=fact.next_step)


def _wait(
    state: RunState,
    reason: str,
    *,
    stage: str,
    next_step: Advice | None = None,
    phase: CheckpointPhase = CheckpointPhase.WAITING,
) -> Advance:
    waiting = Checkpoint(state.checkpoint.number, phase)
    opened = OpenIntervention(InterventionKind.CHECKPOINT, None, reason, stage, next_step)
    return replace(state, checkpoint=waiting), (opened,)


def _job(checkpoint: Checkpoint) -> Enqueue:
    return Enqueue(JobKind.CHECKPOINT, None, pass_no=checkpoint.number)


def _close() -> CloseInterventions:
    return CloseInterventions(kind=InterventionKind.CHECKPOINT)
