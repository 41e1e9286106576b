"""What an agent could not pay, and the ways on."""

from dataclasses import dataclass, replace
from typing import Any

from orchestrator.views.values import RefValue
from shared.domain.ids import Ref
from shared.domain.next_step import Advice, Blank, NextStep
from shared.domain.spending import Cap, Unpaid
from shared.wire import from_json


@dataclass(frozen=True, slots=True)
class UnpaidView:
    """The call to a model that an agent of the subtask `ref` could not pay; amounts in dollars.

    `spent` counts towards the `limit` of the cap, and the `question` of the call to `model` is
    estimated to cost so much; all three are 0 where the price of the model is not known.
    """

    ref: RefValue
    cap: Cap
    limit: float
    spent: float
    question: float
    model: str


def unpaid_of(row: Any, ref: Ref) -> UnpaidView | None:
    """What an agent could not pay, by the row of an intervention; `ref` is its step."""
    if row.unpaid is None:
        return None
    unpaid = from_json(Unpaid, row.unpaid)
    reached = unpaid.reached
    return UnpaidView(
        replace(ref, subtask=unpaid.subtask),
        reached.cap,
        float(reached.limit),
        float(reached.spent),
        float(reached.question),
        reached.model,
    )


def ways_on(unpaid: Unpaid, ref: Ref) -> tuple[Advice, ...]:
    """What a person can do, the most likely first; `ref` is the step."""
    reached, task = unpaid.reached, f"T{ref.task}"
    match reached.cap:
        case Cap.BUDGET:
            first = NextStep.of("step raise", ref, cost_budget=str(reached.enough))
        case Cap.TASK:
            first = NextStep.of("task resume", task, cost_cap=str(reached.enough))
        case _:
            first = NextStep.of("task resume", task)
    return (
        first,
        NextStep.of("plan calls", ref),
        NextStep.of("step revise", ref, file=Blank("revision.yaml")),
        NextStep.of("step abandon", ref),
        NextStep.of("task cancel", task),
    )
