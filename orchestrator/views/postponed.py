"""Postponed work: since when, until when, and what it waits for."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

from orchestrator.views.values import RefValue
from shared.domain.budget import UNAVAILABLE
from shared.domain.ids import Ref
from shared.domain.jobs import JobKind

_PUT_OFF = text("""
    SELECT jobs.kind, jobs.step, jobs.postponed, jobs.due_at, runs.target, story.since,
           story.reason, story.family,
           jobs.lease_until > clock_timestamp() AS in_hand
    FROM jobs LEFT JOIN runs ON runs.id = jobs.run_id
    JOIN LATERAL (
        SELECT min(at) AS since, (array_agg(body ->> 'reason' ORDER BY id DESC))[1] AS reason,
               (array_agg(body ->> 'family' ORDER BY id DESC))[1] AS family
        FROM (
            SELECT id, at, body FROM events
            WHERE events.task_id = jobs.task_id AND events.kind = 'JobFailed'
              AND events.run_id IS NOT DISTINCT FROM jobs.run_id
              AND body ->> 'kind' = jobs.kind
              AND (body ->> 'step')::bigint IS NOT DISTINCT FROM jobs.step
            ORDER BY id DESC LIMIT jobs.postponed
        ) AS failures
    ) AS story ON story.since IS NOT NULL
    WHERE jobs.task_id = :task_id AND jobs.state = 'open' AND jobs.postponed > 0
    ORDER BY jobs.id
""")


@dataclass(frozen=True, slots=True)
class PutOff:
    """Work that failed `times` in a row since `since` and is retried; nobody has to act.

    `until` is the time of the next try, None during it. `provider` says that it waits for the
    provider of a model, which does not count as a failure.
    """

    ref: RefValue
    work: JobKind
    since: datetime
    until: datetime | None
    times: int
    provider: bool
    reason: str


def postponed_work(connection: Connection, task_id: int) -> tuple[PutOff, ...]:
    """The postponed work of a task."""
    return tuple(
        PutOff(
            ref=Ref(task_id, step=row.step, target=row.target),
            work=JobKind(row.kind),
            since=row.since,
            until=None if row.in_hand else row.due_at,
            times=row.postponed,
            provider=row.family == UNAVAILABLE,
            reason=row.reason,
        )
        for row in connection.execute(_PUT_OFF, {"task_id": task_id})
    )
