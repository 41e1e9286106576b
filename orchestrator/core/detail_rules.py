"""How a bare step of a run gets its subtasks when its turn has come."""

from dataclasses import replace

from orchestrator.core.decisions import FillStep
from orchestrator.core.state import StepState
from orchestrator.core.step_rules import StepAdvance, enqueue_again
from shared.domain.facts import StepDetailed
from shared.domain.jobs import JobKind
from shared.domain.look import NOT_LOOKED
from shared.domain.task import StepPhase


def enqueue_detail(step: StepState) -> StepAdvance:
    """Ask for the subtasks of a bare step, whose turn has come."""
    detailing = replace(step, phase=StepPhase.DETAILING, waits_for=None, looks=NOT_LOOKED)
    return detailing, (enqueue_again(detailing, JobKind.DETAIL),)


def after_detail(step: StepState, fact: StepDetailed) -> StepAdvance:
    """Take the subtasks of a step; it begins unless something holds it up now."""
    detailed = replace(
        step,
        phase=StepPhase.NOT_STARTED,
        author=fact.author,
        bare=False,
        postponed=0,
        looks=NOT_LOOKED,
        reason="",
    )
    return detailed, (FillStep(fact.step, fact.subtasks, fact.author),)
