"""The jobs that wait for a worker, as the relay sees them."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text

_WAITING = text("""
    SELECT id, queue, rung_at IS NOT NULL AS rung, claims > 0 AS left_behind,
           lease_until IS NOT NULL AND lost_at IS NULL AS expired
    FROM jobs
    WHERE state = 'open' AND due_at <= clock_timestamp()
      AND (lease_until IS NULL OR lease_until < clock_timestamp())
      AND (rung_at IS NULL OR rung_at < clock_timestamp() - make_interval(secs => :ring_again))
    ORDER BY due_at, id LIMIT :limit
""")

_UNCLAIMED = text("""
    SELECT queue, count(*) FROM jobs
    WHERE state = 'open' AND due_at <= clock_timestamp() AND rung_at IS NOT NULL
      AND (lease_until IS NULL OR lease_until < clock_timestamp())
    GROUP BY queue
""")

# It does not wait for the disk: if the database loses it, the bell is rung once more.
_RUNG = text("""
    WITH hurried AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
    UPDATE jobs SET rung_at = clock_timestamp() FROM hurried
    WHERE id IN (
        SELECT id FROM jobs
        WHERE id = ANY(CAST(:ids AS bigint[])) AND state = 'open'
          AND (lease_until IS NULL OR lease_until < clock_timestamp())
        FOR UPDATE SKIP LOCKED
    )
""")

_NEXT_DUE = text("""
    SELECT extract(epoch FROM min(due_at) - clock_timestamp())
    FROM jobs WHERE state = 'open' AND due_at > clock_timestamp()
""")


@dataclass(frozen=True, slots=True)
class WaitingJob:
    """A due job that nobody holds; `rung` says whether its bell was rung before.

    `left_behind` is True if a worker claimed it and vanished, `expired` if that shows only in its
    lease and nobody has reported it.
    """

    id: int
    queue: str
    rung: bool
    left_behind: bool
    expired: bool


def waiting(connection: Connection, ring_again: float, limit: int = 1000) -> list[WaitingJob]:
    """Due jobs that nobody has claimed and whose bell was not rung for `ring_again` seconds."""
    found = connection.execute(_WAITING, {"ring_again": ring_again, "limit": limit})
    return [WaitingJob(**row) for row in found.mappings()]


def unclaimed_counts(connection: Connection) -> dict[str, int]:
    """How many jobs of each queue have been rung for and still wait."""
    return {row[0]: row[1] for row in connection.execute(_UNCLAIMED)}


def rung(connection: Connection, ids: Sequence[int]) -> None:
    """Record that the bell of these jobs was just rung; jobs that are being claimed are skipped."""
    connection.execute(_RUNG, {"ids": list(ids)})


def seconds_to_next(connection: Connection) -> float | None:
    """Seconds until the next delayed job falls due; None when there is none."""
    seconds = connection.execute(_NEXT_DUE).scalar()
    return None if seconds is None else float(seconds)
