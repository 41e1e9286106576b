"""Messages about deliveries, checkpoints and sessions."""

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from orchestrator.words.kinds import MessageKind, Tone
from shared.domain.delivery import CheckpointEnding, Rejection
from shared.domain.delivery_facts import (
    CheckpointFinished,
    CheckpointRequested,
    DeliveryAllowed,
    DeliveryJudged,
    DeliveryRejected,
    DeliveryReviewed,
    RunPaused,
    SessionClosed,
)
from shared.domain.rejected_delivery import RejectedDelivery

DeliveryFact = (
    DeliveryJudged
    | DeliveryReviewed
    | DeliveryAllowed
    | DeliveryRejected
    | CheckpointRequested
    | CheckpointFinished
    | SessionClosed
    | RunPaused
)

_REJECTED = {
    Rejection.GATE: "a gate refused the delivery of step {step}",
    Rejection.CONFLICT: "the delivery of step {step} conflicts with what was accepted before",
    Rejection.CHECK: "a check failed on the delivery of step {step}",
    Rejection.REVIEWER: "the reviewer rejected the delivery of step {step}",
    Rejection.PERSON: "a person rejected the delivery of step {step}",
}
_ENDED = {
    CheckpointEnding.COMPLETE: "checkpoint {number} is complete: {head} is on the remote",
    CheckpointEnding.DIVERGED: "checkpoint {number} stopped: the remote has other commits",
    CheckpointEnding.REFUSED: "checkpoint {number} stopped: the remote refused it",
    CheckpointEnding.UNPROVEN: "checkpoint {number} stopped before it asked the remote",
    CheckpointEnding.GIVEN_UP: "checkpoint {number} was given up before it was complete",
}


def delivery_words(fact: DeliveryFact) -> tuple[MessageKind, Tone, str]:
    """The kind, tone and text of the message for such a fact."""
    match fact:
        case DeliveryJudged(step=step, judgement=judgement):
            if judgement.rejection is None:
                told = f"the delivery of step {step} passed its checks"
                return MessageKind.DELIVERY, Tone.GOOD, told
            told = _REJECTED[judgement.rejection].format(step=step)
            return MessageKind.DELIVERY, Tone.BAD, told + _why(judgement.reason)
        case DeliveryReviewed():
            said = "approved" if fact.approved else "rejected"
            tone = Tone.GOOD if fact.approved else Tone.BAD
            told = f"{fact.reviewer} {said} the delivery of step {fact.step}"
            return MessageKind.DELIVERY, tone, told + _why(fact.reason)
        case DeliveryAllowed():
            told = f"{fact.allowed_by} accepted the delivery of step {fact.step}"
            return MessageKind.INTERVENTION, Tone.PLAIN, told
        case DeliveryRejected():
            told = f"{fact.rejected_by} rejected the delivery of step {fact.step}"
            return MessageKind.INTERVENTION, Tone.PLAIN, told + _why(fact.note)
        case CheckpointRequested():
            told = f"{fact.requested_by} asked for a checkpoint"
            return MessageKind.CHECKPOINT, Tone.PLAIN, told
        case CheckpointFinished():
            told = _ENDED[fact.ending].format(number=fact.number, head=fact.head[:12])
            tone = Tone.GOOD if fact.ending is CheckpointEnding.COMPLETE else Tone.BAD
            return MessageKind.CHECKPOINT, tone, told + _why(fact.reason)
        case SessionClosed():
            return MessageKind.TASK, Tone.PLAIN, f"{fact.closed_by} closed the session"
        case RunPaused():
            return MessageKind.TASK, Tone.PLAIN, f"{fact.paused_by} paused it"
        case _:
            assert_never(fact)


def describe_rejected(rejected: RejectedDelivery | None) -> Iterator[tuple[str, str]]:
    """Why a delivery came back, as a name and a text; what checks printed is shown with it."""
    if rejected is not None:
        yield (
            f"its delivery of pass {rejected.pass_no} came back",
            str(replace(rejected, output="")),
        )


def _why(reason: str) -> str:
    return f": {reason}" if reason else ""
