"""The bundles that deliveries refer to."""

from sqlalchemy import Connection, select

from shared.store.delivery_tables import DeliveryRow


def referred_bundles(connection: Connection) -> frozenset[str]:
    """The SHA-256 of the bundle of each delivery, whatever became of it.

    What the gates refused was never stored, and has no place.
    """
    return frozenset(connection.scalars(select(DeliveryRow.sha256).where(DeliveryRow.uri != "")))


def newest_bundle(connection: Connection) -> str | None:
    """The SHA-256 of the bundle that was stored last; None if there is none."""
    newest = select(DeliveryRow.sha256).where(DeliveryRow.uri != "")
    return connection.scalar(newest.order_by(DeliveryRow.id.desc()).limit(1))
