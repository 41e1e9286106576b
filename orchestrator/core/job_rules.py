"""Whether a failed or lost job of a step is still waited for."""

from orchestrator.core.look_rules import is_of_other_planning
from orchestrator.core.state import StepState
from shared.domain import facts as f
from shared.domain.delivery import Stage
from shared.domain.jobs import JobKind
from shared.domain.plan import Recovery
from shared.domain.task import StepPhase

AT_WORK = frozenset({StepPhase.READY, StepPhase.RUNNING})


def awaits_advice(step: StepState) -> bool:
    """Whether its planner is asked about another try."""
    return (
        step.phase is StepPhase.REPLANNING and step.recovery is Recovery.RETRY and not step.forced
    )


def overtaken_failure(step: StepState, fact: f.JobFailed) -> bool:
    """Whether the step no longer waits for the job that failed."""
    if fact.kind is JobKind.ADVISE and not awaits_advice(step):
        return True
    return (
        not _is_at(step, fact.kind)
        or is_of_other_planning(step, fact)
        or step.pass_no != fact.pass_no
        or step.postponed != fact.postponed
    )


def overtaken_loss(step: StepState, fact: f.WorkerLost) -> bool:
    """Whether the step no longer waits for the job of the lost worker."""
    if fact.kind is JobKind.CLEAN_UP:
        return step.phase is not StepPhase.CANCELLED or step.cleanups == 0
    return not _is_at(step, fact.kind) or step.pass_no != fact.pass_no


def _is_at(step: StepState, kind: JobKind) -> bool:
    """Whether a worker may be at such a job of the step."""
    if kind in {JobKind.ACCEPT, JobKind.REVIEW}:
        return step.phase is StepPhase.ACCEPTING and _awaits(step, kind)
    if kind is JobKind.EXECUTE:
        return step.phase in AT_WORK
    planned = {StepPhase.REPLANNING}
    if kind in {JobKind.DETAIL, JobKind.LOOK}:
        planned |= {StepPhase.DETAILING}
    return step.phase in planned


def _awaits(step: StepState, kind: JobKind) -> bool:
    """Whether the delivery of a step is being judged, or reviewed."""
    if step.acceptance is None:
        return False
    if kind is JobKind.REVIEW:
        return step.acceptance.stage is Stage.REVIEWING
    return step.acceptance.awaits_judgement
