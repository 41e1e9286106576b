"""Facts about deliveries and checkpoints of a session, which is a run that delivers."""

from dataclasses import dataclass

from shared.domain.delivery import CheckpointEnding, Judgement
from shared.domain.person_facts import OfPass


@dataclass(frozen=True, slots=True)
class OfDelivery(OfPass):
    """What every fact about a delivery begins with: its pass, and the SHA-256 of its bundle."""

    delivery: str


@dataclass(frozen=True, slots=True)
class DeliveryJudged(OfDelivery):
    """A delivery was merged with its line and checked; `turn` is that of the judgement."""

    turn: int
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class DeliveryReviewed(OfDelivery):
    """A reviewer that did not write it has approved a delivery, or not."""

    approved: bool
    reviewer: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DeliveryAllowed(OfDelivery):
    """A person accepts a delivery that waited for one, in the intervention of that number."""

    intervention: int
    allowed_by: str


@dataclass(frozen=True, slots=True)
class DeliveryRejected(OfDelivery):
    """A person rejects a delivery that waited for one; `note` goes to its author."""

    intervention: int
    rejected_by: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class CheckpointRequested:
    """A person wants what was accepted to be published now, or tried again."""

    requested_by: str


@dataclass(frozen=True, slots=True)
class CheckpointFinished:
    """A checkpoint ended; `head` was verified on the remote, if it is complete.

    It holds the first `accepted` deliveries that the session accepted.
    """

    number: int
    accepted: int
    head: str
    ending: CheckpointEnding
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SessionClosed:
    """A person closed a session that was held open: it ends with its last step."""

    closed_by: str


@dataclass(frozen=True, slots=True)
class RunPaused:
    """A person paused a run: no further step begins until it is resumed."""

    paused_by: str
