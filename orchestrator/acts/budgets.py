"""What a person may do about the money that agents spend on models."""

from decimal import Decimal
from math import isfinite

from orchestrator.access.audit import Act
from orchestrator.acts.caller import Caller
from orchestrator.acts.done import Done
from orchestrator.acts.post import post
from orchestrator.acts.verbs import act
from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.views.interventions import InterventionView
from orchestrator.views.places import require_step
from orchestrator.views.steps import StepLine, StepView, step_view
from shared.domain.errors import Rejected
from shared.domain.facts import SpendingAllowed
from shared.domain.ids import Ref
from shared.domain.next_step import NextStep
from shared.domain.spending import LEAST, MOST, exact, is_spent


@act("step.raise")
def raise_budget(caller: Caller, ref: Ref, cost_budget: float) -> Done[StepLine]:
    """Raise the cost budget (dollars; 0: none) that the agents of a step have used up.

    It is that of one subtask under the present revision. The step goes on from the work that they
    have left; its errors stay counted. Raises Rejected where no budget of the step is used up, and
    where the next call could not be paid from the new one, either, and for an amount that is
    neither 0 nor from `LEAST` to `MOST`.
    """
    with caller.database.begin() as connection:
        place, _ = require_step(connection, ref)
        view = step_view(connection, ref)
    step, waits = view.step, _waiting(view)
    if waits is None or waits.unpaid is None:
        raise Rejected(
            f"{step.ref} does not wait for a cost budget: it is {step.phase}",
            stage="input",
            next_step=NextStep.of("step show", step.ref),
        )
    if not isfinite(cost_budget) or (cost_budget and not LEAST <= cost_budget <= MOST):
        raise Rejected(
            f"{cost_budget} is not a valid amount in dollars; allowed: 0 (none), and from "
            f"{exact(LEAST)} to {MOST:.0f}",
            stage="input",
            next_step=waits.next_step,
        )
    unpaid, dollars = waits.unpaid, Decimal(str(cost_budget))
    spent, question = Decimal(str(unpaid.spent)), Decimal(str(unpaid.question))
    if dollars and is_spent(dollars, spent, question):
        raise Rejected(
            f"${exact(dollars)} is not enough: models have cost ${exact(spent)} for "
            f"{unpaid.ref}, and the next question alone costs about ${exact(question)}",
            stage="input",
            next_step=waits.next_step,
        )
    fact = SpendingAllowed(
        step.ordinal,
        step.revision,
        step.pass_no,
        caller.actor.name,
        unpaid.ref.subtask or 0,
        dollars,
    )
    entry = Act("step.raise", str(step.ref), {"cost_budget": str(dollars)})
    taken = post(caller, entry, [(place.task_id, place.run_id, fact)])
    with caller.database.begin() as connection:
        return Done(step_view(connection, ref).step, taken)


def _waiting(view: StepView) -> InterventionView | None:
    kind = InterventionKind.BUDGET
    return next((each for each in view.interventions if each.kind == kind), None)
