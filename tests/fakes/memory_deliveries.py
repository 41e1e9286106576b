"""The deliveries of the store in memory."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.core.decisions import SettleDelivery
from shared.domain.delivery import DeliveryStatus, Rejection


@dataclass(slots=True)
class MemoryDelivery:
    """A delivery's row, as far as this store keeps it."""

    run: int
    step: int
    sha256: str
    status: DeliveryStatus = DeliveryStatus.PUBLISHED
    rejection: Rejection | None = None
    reason: str = ""
    commit: str | None = None
    settled_by: str | None = None


def settle_delivery(rows: Sequence[MemoryDelivery], run: int, told: SettleDelivery) -> None:
    """Write down what became of a delivery; see `shared.store.deliveries.settle`."""
    accepted = told.status is DeliveryStatus.CHECKPOINTED
    before = DeliveryStatus.ACCEPTED if accepted else DeliveryStatus.PUBLISHED
    for row in rows:
        named = row.status is before if told.delivery is None else row.sha256 == told.delivery
        if (row.run, row.step) == (run, told.step) and named:
            row.status, row.rejection, row.reason = told.status, told.rejection, told.reason
            row.commit = told.commit or row.commit
            row.settled_by = told.settled_by or row.settled_by
