"""What becomes of deliveries, in their rows."""

from sqlalchemy import Connection, text

from shared.domain.delivery import DeliveryStatus, Rejection

_SETTLE = text(f"""
    UPDATE deliveries SET
        status = :status, rejection = :rejection, reason = :reason,
        commit = coalesce(:commit, deliveries.commit),
        settled_by = coalesce(:settled_by, deliveries.settled_by),
        settled_at = clock_timestamp()
    WHERE run_id = :run_id AND step = :step
      AND CASE WHEN CAST(:sha256 AS text) IS NULL
          THEN status = '{DeliveryStatus.ACCEPTED}' ELSE sha256 = :sha256 END
""")  # noqa: S608 - a constant


def settle(
    connection: Connection,
    run_id: int,
    step: int,
    status: DeliveryStatus,
    *,
    sha256: str | None,
    rejection: Rejection | None = None,
    reason: str = "",
    commit: str | None = None,
    settled_by: str | None = None,
) -> None:
    """Write down what became of a delivery; without `sha256`, of the accepted one of the step."""
    values = {
        "run_id": run_id,
        "step": step,
        "status": status.value,
        "sha256": sha256,
        "rejection": None if rejection is None else rejection.value,
        "reason": reason,
        "commit": commit,
        "settled_by": settled_by,
    }
    connection.execute(_SETTLE, values)
