"""`advance`: applies a fact to a state and decides what to do.

The rules compute; this module holds them to the table in `transitions`. The same function decides
in the coordinator, is folded over the recorded events by `doctor`, and is walked by the tests.
"""

from typing import get_args, overload

from orchestrator.core import overtaken_rules, run_rules, task_rules
from orchestrator.core.decisions import Decision
from orchestrator.core.state import RunState, TaskState
from orchestrator.core.transitions import STEP_TRANSITIONS, TASK_TRANSITIONS
from shared.domain.errors import Defect
from shared.domain.facts import RunFact, TaskFact
from shared.domain.task import StepPhase

RULES_VERSION = 8
"""Raised when the same facts may lead to another state: what was recorded under other rules is not
folded again."""


@overload
def advance(state: RunState, fact: RunFact) -> tuple[RunState, tuple[Decision, ...]]: ...
@overload
def advance(state: TaskState, fact: TaskFact) -> tuple[TaskState, tuple[Decision, ...]]: ...


def advance(
    state: RunState | TaskState, fact: RunFact | TaskFact
) -> tuple[RunState | TaskState, tuple[Decision, ...]]:
    """Apply one fact; an overtaken one changes nothing. Raises Defect when the law is broken."""
    if isinstance(state, RunState) and isinstance(fact, get_args(RunFact)):
        return _advance_run(state, fact)
    if isinstance(state, TaskState) and isinstance(fact, get_args(TaskFact)):
        return _advance_task(state, fact)
    raise Defect(
        f"{type(fact).__name__} is not a fact about a {type(state).__name__}",
        stage="advance",
        story=(repr(state), repr(fact)),
    )


def _advance_run(state: RunState, fact: RunFact) -> tuple[RunState, tuple[Decision, ...]]:
    if overtaken_rules.overtaken(state, fact):
        return state, ()
    after, decisions = run_rules.apply(state, fact)
    hold_to_the_law(state, after, fact)
    return after, decisions


def hold_to_the_law(state: RunState, after: RunState, fact: RunFact) -> None:
    """Raise Defect unless every step that moved, and the one of the fact, was allowed to."""
    for ordinal, step in after.steps.items():
        before = state.steps.get(ordinal)
        old = StepPhase.NOT_STARTED if before is None else before.phase
        about_it = before is None or getattr(fact, "step", None) == ordinal
        if old is step.phase and not about_it:
            continue
        if step.phase not in STEP_TRANSITIONS[old].get(type(fact), frozenset()):
            raise Defect(
                f"step {ordinal} may not go from {old} to {step.phase} on {type(fact).__name__}",
                stage="advance",
                story=(repr(before), repr(fact)),
            )


def _advance_task(state: TaskState, fact: TaskFact) -> tuple[TaskState, tuple[Decision, ...]]:
    if task_rules.overtaken(state, fact):
        return state, ()
    allowed = TASK_TRANSITIONS[state.phase].get(type(fact))
    if allowed is None:
        raise Defect(
            f"{type(fact).__name__} may not come to a task that is {state.phase}",
            stage="advance",
            story=(repr(state), repr(fact)),
        )
    after, decisions = task_rules.apply(state, fact)
    if after.phase not in allowed:
        raise Defect(
            f"a task may not go from {state.phase} to {after.phase} on {type(fact).__name__}",
            stage="advance",
            story=(repr(state), repr(fact)),
        )
    return after, decisions
