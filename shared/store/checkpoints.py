"""Checkpoints whose workers cannot end them any more; `workers.deliveries` writes the others."""

from sqlalchemy import Connection, text

from shared.domain.delivery import CheckpointEnding

_END = text("""
    UPDATE checkpoints SET status = :status, finished_at = clock_timestamp(),
        report = report || jsonb_build_object('reason', CAST(:reason AS text))
    WHERE run_id = :run_id AND number = :number AND finished_at IS NULL
""")


def end(connection: Connection, run_id: int, number: int, reason: str) -> None:
    """End a checkpoint as refused, unless it has ended or no worker has begun it."""
    values = {"status": CheckpointEnding.REFUSED.value, "reason": reason}
    connection.execute(_END, {"run_id": run_id, "number": number, **values})
