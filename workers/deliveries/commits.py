"""The commit that stands for a delivery."""

from shared.store.deliveries import StoredDelivery
from workers.deliveries.values import DeliveryCommit


def commit_of(delivery: StoredDelivery, title: str) -> DeliveryCommit:
    """The delivery as the line takes it; `title` is that of its step."""
    return DeliveryCommit(delivery.sha256, delivery.base, delivery.tree, delivery.created_at, title)
