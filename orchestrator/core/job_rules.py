"""Whether a failed or lost job of a step is still waited for."""

from orchestrator.core.look_rules import is_of_other_planning
from orchestrator.core.state import StepState
from shared.domain import facts as f
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
        step.phase not in _at_it(fact.kind)
        or is_of_other_planning(step, fact)
        or step.pass_no != fact.pass_no
        or step.postponed != fact.postponed
    )


def overtaken_loss(step: StepState, fact: f.WorkerLost) -> bool:
    """Whether the step no longer waits for the job of the lost worker."""
    if fact.kind is JobKind.CLEAN_UP:
        return step.phase is not StepPhase.CANCELLED or step.cleanups == 0
    return step.phase not in _at_it(fact.kind) or step.pass_no != fact.pass_no


def _at_it(kind: JobKind) -> frozenset[StepPhase]:
    """The phases in which a worker may be at such a job of the step."""
    if kind is JobKind.EXECUTE:
        return AT_WORK
    if kind in {JobKind.ACCEPT, JobKind.REVIEW}:
        return frozenset({StepPhase.ACCEPTING})
    planned = frozenset({StepPhase.REPLANNING})
    return planned | {StepPhase.DETAILING} if kind in {JobKind.DETAIL, JobKind.LOOK} else planned
