"""What follows when a person puts other steps in the place of those that remain."""

from dataclasses import replace

from orchestrator.core.decisions import AddSteps, CancelJobs, CloseInterventions, Decision
from orchestrator.core.plan_rules import mark_replaced, remaining_needs
from orchestrator.core.state import RunState, StepState, WaitsFor
from shared.domain.changed_plan import renumber
from shared.domain.facts import StepsReplaced
from shared.domain.task import ENDED_STEP, StepPhase

REPLACEABLE = frozenset(
    {
        StepPhase.NOT_STARTED,
        StepPhase.DETAILING,
        StepPhase.WAITING,
        StepPhase.BLOCKED,
        StepPhase.ERROR,
        StepPhase.SKIPPED,
    }
)


def is_replaceable(phase: StepPhase, waits_for: WaitsFor | None, *, unfinished: bool) -> bool:
    """Whether a person may replace a step: nothing of it runs, and no outcome is still unknown."""
    told = waits_for in {WaitsFor.OUTCOME, WaitsFor.RECORDS}
    return phase in REPLACEABLE and not told and not unfinished


def overtaken_replacement(state: RunState, fact: StepsReplaced) -> bool:
    """Whether the plan is another one by now, or what is to be replaced has begun.

    Only a session that is held open takes steps that replace none. No step that stays may need one
    that goes.
    """
    gone = set(fact.replaces)
    if not gone <= state.steps.keys() or fact.known != max(state.steps, default=0):
        return True
    if not (gone or state.held_open) or not all(
        _is_replaceable(state.steps[ordinal]) for ordinal in gone
    ):
        return True
    kept = (step for ordinal, step in state.steps.items() if ordinal not in gone)
    return any(step.phase not in ENDED_STEP and gone & {*step.depends_on} for step in kept)


def replace_steps(state: RunState, fact: StepsReplaced) -> tuple[RunState, tuple[Decision, ...]]:
    """Put a person's steps in the place of those that they name; everything else stays."""
    gone, last = set(fact.replaces), max(state.steps, default=0)
    added = renumber(fact.steps, last, remaining_needs(state, gone))
    steps = mark_replaced(state, gone, f"replaced by {fact.replaced_by}")
    steps |= {step.ordinal: StepState.of(step) for step in added}
    return replace(state, steps=steps), (
        *(CancelJobs(ordinal) for ordinal in sorted(gone)),
        *(CloseInterventions(ordinal) for ordinal in sorted(gone)),
        AddSteps(added),
    )


def _is_replaceable(step: StepState) -> bool:
    return is_replaceable(step.phase, step.waits_for, unfinished=step.unfinished)
