"""Whether a worker has a running attempt."""

from dataclasses import dataclass

from sqlalchemy import Connection, text

_CUSTODY = text("""
    SELECT attempts.run_id, attempts.step, attempts.subtask, attempts.number,
           attempts.outcome = 'running'
               AND coalesce(bool_or(jobs.state = 'open'), false) AS in_hand,
           coalesce(bool_or(jobs.cancel_attempt = attempts.key), false) AS cancelled
    FROM attempts
    LEFT JOIN jobs ON jobs.run_id = attempts.run_id AND jobs.step = attempts.step
         AND jobs.revision = attempts.revision AND jobs.pass_no = attempts.pass_no
         AND jobs.kind = 'execute'
    WHERE attempts.key = :key
    GROUP BY attempts.id
""")


@dataclass(frozen=True, slots=True)
class Custody:
    """Where an attempt belongs, and whether a worker has it.

    It is `in_hand` while it runs and the job of its pass is open, and `cancelled` once that job
    tells its worker to end it.
    """

    run_id: int
    step: int
    subtask: int
    number: int
    in_hand: bool
    cancelled: bool


def custody_of(connection: Connection, key: str) -> Custody:
    """Where the attempt with that key belongs, and whether a worker has it."""
    return Custody(**connection.execute(_CUSTODY, {"key": key}).mappings().one())
