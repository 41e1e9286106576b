"""What a person may do with a bundle: send it."""

from orchestrator.access.audit import Act
from orchestrator.acts.caller import Caller
from orchestrator.acts.done import Done
from orchestrator.acts.post import post
from orchestrator.acts.verbs import act
from orchestrator.views.places import require_step
from orchestrator.views.steps import StepLine, held_pass, step_view
from shared.domain.errors import Rejected
from shared.domain.facts import BundleSent
from shared.domain.ids import Ref
from shared.domain.next_step import NextStep


@act("bundle.send")
def send(caller: Caller, ref: Ref, note: str = "") -> Done[StepLine]:
    """Send evidence that a person has held to the planner of its step, as it was shown.

    Bundles wait when `hold_bundles` is set, when `send_to_planner_after_threshold` is off, and when
    no revisions are left. Raises Rejected when no bundle of the step waits.
    """
    with caller.database.begin() as connection:
        at, ordinal = require_step(connection, ref)
        step = step_view(connection, ref).step
        held = held_pass(connection, at.run_id, ordinal)
    if held is None:
        raise Rejected(
            f"no bundle of {step.ref} is waiting to be sent: the step is {step.phase}",
            stage="input",
            next_step=NextStep.of("step show", step.ref),
        )
    fact = BundleSent(ordinal, step.revision, held, note)
    entry = Act("bundle.send", str(step.ref), {"pass": held})
    taken = post(caller, entry, [(at.task_id, at.run_id, fact)])
    with caller.database.begin() as connection:
        return Done(step_view(connection, ref).step, taken)
