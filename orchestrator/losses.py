"""Lost workers: notes whose jobs they had, and frees those jobs."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, Row, text

from shared.domain.facts import WorkerLost
from shared.domain.jobs import JobKind, LossSign
from shared.store import inbox
from shared.store.database import DOORBELL, notify

_HELD = text("""
    SELECT DISTINCT presence FROM jobs
    WHERE state = 'open' AND presence IS NOT NULL AND lost_at IS NULL
      AND lease_until > clock_timestamp()
""")

_NOTE = """
    UPDATE jobs SET lost_at = clock_timestamp()
    WHERE id IN (
        SELECT id FROM jobs
        WHERE state = 'open' AND owner IS NOT NULL AND lost_at IS NULL AND {found}
        ORDER BY id FOR NO KEY UPDATE
    )
    RETURNING task_id, run_id, kind, step, revision, pass_no, owner
"""
_NOTE_ABSENT = text(
    _NOTE.format(found="presence = ANY(:absent) AND lease_until > clock_timestamp()")
)
_NOTE_EXPIRED = text(_NOTE.format(found="lease_until < clock_timestamp()"))

# Nothing follows from the job of a cancelled step, but a clean-up waits for the end of its lease.
_FREE_CANCELLED = text("""
    UPDATE jobs SET lease_until = clock_timestamp()
    WHERE presence = ANY(:absent) AND state = 'cancelled' AND lease_until > clock_timestamp()
      AND id IN (
          SELECT held.id FROM attempts
          JOIN jobs held ON held.run_id = attempts.run_id AND held.step = attempts.step
          WHERE attempts.outcome = 'running'
      )
""")

_FREE = text("""
    UPDATE jobs SET lease_until = clock_timestamp(), rung_at = NULL
    WHERE task_id = :task_id AND kind = :kind AND state = 'open'
      AND run_id IS NOT DISTINCT FROM :run_id AND step IS NOT DISTINCT FROM :step
      AND lost_at IS NOT NULL AND lease_until > clock_timestamp()
    RETURNING id
""")


def held_by(connection: Connection) -> set[int]:
    """The numbers of the workers that hold a lease."""
    return set(connection.execute(_HELD).scalars())


def note_absent(connection: Connection, absent: Collection[int]) -> int:
    """Report the loss of each worker with one of these numbers; returns how many jobs they held."""
    numbers = {"absent": sorted(absent)}
    connection.execute(_FREE_CANCELLED, numbers)
    found = connection.execute(_NOTE_ABSENT, numbers).all()
    return _report(connection, found, LossSign.PRESENCE)


def note_expired(connection: Connection) -> int:
    """Report the loss of each worker whose lease ran out; returns how many jobs they held."""
    return _report(connection, connection.execute(_NOTE_EXPIRED).all(), LossSign.LEASE)


def free(
    connection: Connection, task_id: int, run_id: int | None, step: int | None, kind: JobKind
) -> None:
    """End the lease of a job whose worker is lost, so that anyone can claim it at once.

    Nothing happens if that worker has renewed its lease since, or if another one has the job.
    """
    place = {"task_id": task_id, "run_id": run_id, "step": step, "kind": kind.value}
    if connection.execute(_FREE, place).first() is not None:
        notify(connection, DOORBELL)


def _report(connection: Connection, found: Collection[Row[Any]], sign: LossSign) -> int:
    inbox.send(connection, [(row.task_id, row.run_id, _lost(row, sign)) for row in found])
    return len(found)


def _lost(row: Row[Any], sign: LossSign) -> WorkerLost:
    name, _, _ = row.owner.partition("/")
    return WorkerLost(JobKind(row.kind), row.step, row.revision, row.pass_no, name, sign)
