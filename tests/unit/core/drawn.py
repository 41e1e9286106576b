"""Policies and plans of all kinds, drawn at random."""

from decimal import Decimal
from random import Random

from orchestrator.core.state import StepState, WaitsFor
from shared.domain import facts as f
from shared.domain.author import Author
from shared.domain.config import (
    ASK,
    AT_ONCE,
    AUTO,
    AUTONOMIES,
    BY_CLASS,
    FIXED,
    IN_TURN,
    MODEL,
    Policy,
    Value,
)
from shared.domain.plan import OnFailure, Plan, Recovery, Step, check_steps, default_dependencies
from shared.domain.records import RecordsAnswer
from shared.domain.spending import Cap, CapReached, Unpaid
from tests.unit.core.given import BY_HAND, PLANNER, SUBTASK_PLANNER, bare, step


def some_policy(rng: Random) -> Policy:
    """A policy with small numbers, so that every limit is reached."""
    in_turn = rng.random() < 0.6
    return Policy(
        taskmaster_enabled=rng.random() < 0.3,
        error_threshold_per_step=rng.randint(1, 3),
        send_to_planner_after_threshold=rng.random() < 0.8,
        hold_bundles=rng.random() < 0.2,
        human_escalation_threshold=rng.randint(0, 2),
        max_retry_count=rng.randint(1, 3),
        max_transient_failures=rng.randint(0, 2),
        planner="human" if rng.random() < 0.2 else "anthropic",
        subtask_planner="human" if rng.random() < (0.05 if in_turn else 0.3) else "anthropic",
        autonomy=rng.choice([ASK, ASK, AUTO] if in_turn else AUTONOMIES),
        retry_strategy=rng.choice([FIXED, FIXED, BY_CLASS, MODEL]),
        detail_steps=IN_TURN if in_turn else AT_ONCE,
    )


def other_limits(rng: Random) -> dict[str, Value]:
    """Limits that may be changed while a task is under way, and one that may not."""
    return {
        "max_retry_count": rng.randint(1, 4),
        "human_escalation_threshold": rng.randint(0, 3),
        "retry_strategy": rng.choice([FIXED, MODEL]),
        "autonomy": rng.choice(AUTONOMIES),
    }


def some_plan(rng: Random, *, complete: bool) -> Plan:
    """A plan of one to five steps: in two lanes, in groups, or with dependencies of its own."""
    ordinals = range(1, rng.randint(1, 5) + 1)
    if rng.random() < 0.5:
        depends: dict[int, tuple[int, ...]] = {n: (n - 2,) if n > 2 else () for n in ordinals}
    else:
        depends = default_dependencies(
            (n, rng.choice([None, None, "a", "b"]), _some_needs(rng, n)) for n in ordinals
        )
    steps = tuple(_some_step(rng, n, depends[n], complete=complete) for n in depends)
    check_steps(steps)
    return Plan(steps)


def _some_needs(rng: Random, ordinal: int) -> tuple[int, ...] | None:
    if rng.random() < 0.6:
        return None
    return tuple(sorted(rng.sample(range(1, ordinal), rng.randint(0, ordinal - 1))))


def _some_step(rng: Random, ordinal: int, depends_on: tuple[int, ...], *, complete: bool) -> Step:
    kind = step if complete or rng.random() < 0.3 else bare
    return kind(
        ordinal,
        depends_on=depends_on,
        recovery=rng.choice(list(Recovery)),
        on_failure=rng.choice([OnFailure.STOP, OnFailure.STOP, OnFailure.CONTINUE]),
        ask_question="which?" if rng.random() < 0.04 else "",
        **({"author": _some_author(rng)} if kind is step else {}),
    )


def _some_author(rng: Random) -> Author:
    return rng.choice([SUBTASK_PLANNER, SUBTASK_PLANNER, PLANNER, BY_HAND])


def records_settled(rng: Random, step: StepState) -> f.RecordsSettled:
    """What a person says about the records of a host."""
    answer = rng.choice(list(RecordsAnswer))
    place = step.ordinal, step.revision, step.pass_no
    return f.RecordsSettled(*place, 7, answer, ("token",), step.pass_no + 1, "ann")


def unpaid_call(pass_no: int) -> Unpaid:
    """What an agent could not pay: for its own budget, and every second time for another cap."""
    caps = (Cap.BUDGET, Cap.TASK, Cap.BUDGET, Cap.DAY)
    cent = Decimal("0.01")
    return Unpaid(1, CapReached(caps[pass_no % len(caps)], cent, cent, cent, "m"))


def allowed(step: StepState, waits: WaitsFor | None) -> f.SpendingAllowed:
    """A person lets the agents of a step spend more."""
    place = step.ordinal, step.revision, step.pass_no
    if waits is WaitsFor.BUDGET:
        return f.SpendingAllowed(*place, "ann", 1, Decimal(1))
    return f.SpendingAllowed(*place, "ann")
