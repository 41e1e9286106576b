"""What a person may do with a delivery that waits for them: accept it, or reject it."""

from dataclasses import dataclass

from orchestrator.access.audit import Act
from orchestrator.acts.approvals import too_late
from orchestrator.acts.caller import Caller
from orchestrator.acts.done import Done
from orchestrator.acts.post import post
from orchestrator.acts.verbs import act
from orchestrator.views.approvals import ApprovalAnswer
from orchestrator.views.deliveries import (
    DeliveryLine,
    WaitingDelivery,
    delivery_view,
    waiting_deliveries,
)
from orchestrator.views.interventions import intervention
from shared.domain.delivery_facts import DeliveryAllowed, DeliveryRejected
from shared.domain.errors import Rejected
from shared.domain.next_step import Blank, NextStep


@dataclass(frozen=True, slots=True)
class Accepted:
    """The deliveries that a person accepts, or with `rejected` does not, as they are now.

    `why` says of each why it waits, in their order; `applied` that it was done.
    """

    deliveries: tuple[DeliveryLine, ...]
    why: tuple[str, ...]
    rejected: bool
    applied: bool


@act("accept.run")
def accept(
    caller: Caller, name: str, *, reject: bool = False, note: str = "", apply: bool = False
) -> Done[Accepted]:
    """Accept a delivery, or all those of a step or session that wait for a person, or reject them.

    An accepted one goes into the queue of its session, a rejected one back to its author with the
    note. Without `apply`, nothing is written. Raises Rejected when nothing waits there, when
    somebody else has answered first, or when a rejection has no note.
    """
    if reject and not note.strip():
        blank = Blank("WHY, AND WHAT TO DO INSTEAD", text=True)
        raise Rejected(
            "a rejection needs a note, which its author reads",
            stage="input",
            next_step=NextStep.of("accept run", name, reject=True, note=blank, apply=True),
        )
    with caller.database.begin() as connection:
        waiting = waiting_deliveries(connection, name)
    why = tuple(each.why for each in waiting)
    lines = tuple(each.delivery for each in waiting)
    if not apply:
        return Done(Accepted(lines, why, reject, applied=False))
    said = {"deliveries": [line.sha256 for line in lines], "rejected": reject}
    facts = [
        (each.delivery.ref.task, each.run_id, _fact(each, caller.actor.name, reject, note))
        for each in waiting
    ]
    taken = post(caller, Act("accept.run", str(lines[0].ref.of_task()), said), facts)
    said_here = ApprovalAnswer.REJECTED if reject else ApprovalAnswer.ACCEPTED
    with caller.database.begin() as connection:
        lines = tuple(delivery_view(connection, line.name).delivery for line in lines)
        asked = [intervention(connection, f"I{each.intervention}") for each in waiting]
    for view in asked if taken else ():
        if view.answer != said_here:
            raise too_late(view)
    return Done(Accepted(lines, why, reject, applied=True), taken)


def _fact(
    waiting: WaitingDelivery, by: str, reject: bool, note: str
) -> DeliveryAllowed | DeliveryRejected:
    step, delivery = waiting.delivery.ref.step or 0, waiting.delivery.sha256
    place = (step, waiting.revision, waiting.pass_no, delivery, waiting.intervention, by)
    return DeliveryRejected(*place, note) if reject else DeliveryAllowed(*place)
