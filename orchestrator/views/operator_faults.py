"""What an operator has to put right before tasks go on: a key, a host, a setting."""

from dataclasses import dataclass

from sqlalchemy import Connection, text

from shared.domain.next_step import Advice
from shared.wire import decode_next_step

_FAULTS = text("""
    SELECT min(id) AS id, reason, count(DISTINCT task_id) AS tasks,
           (array_agg(next_step ORDER BY id))[1] AS step
    FROM interventions WHERE closed_at IS NULL AND kind = 'operator'
    GROUP BY reason ORDER BY min(id) LIMIT :limit
""")


@dataclass(frozen=True, slots=True)
class OperatorFault:
    """Why so many tasks wait for an operator, and the first intervention that says so."""

    intervention: int
    reason: str
    tasks: int
    next_step: Advice | None


def operator_faults(connection: Connection, limit: int) -> tuple[OperatorFault, ...]:
    """Each reason once, at most `limit`."""
    rows = connection.execute(_FAULTS, {"limit": limit})
    return tuple(
        OperatorFault(row.id, row.reason, row.tasks, decode_next_step(row.step)) for row in rows
    )
