"""Postponed work: since when, until when, and what it waits for."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

from orchestrator.views.values import RefValue
from shared.domain.budget import UNAVAILABLE
from shared.domain.ids import Ref
from shared.domain.jobs import JobKind

_PUT_OFF = text("""
    SELECT jobs.task_id, jobs.kind, jobs.step, jobs.postponed, jobs.due_at, runs.target,
           story.since, story.reason, story.family,
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
    WHERE jobs.state = 'open' AND jobs.postponed > 0
      AND (CAST(:task_id AS bigint) IS NULL OR jobs.task_id = :task_id)
      AND (CAST(:run_id AS bigint) IS NULL OR jobs.run_id = :run_id)
      AND (CAST(:kind AS text) IS NULL OR jobs.kind = :kind)
    ORDER BY jobs.id
""")


@dataclass(frozen=True, slots=True)
class PutOff:
    """Work that failed `times` in a row since `since` and is retried; nobody has to act.

    `until` is the time of the next try, None during it. `provider` says that it waits for somebody
    outside who is away, which does not count as a failure: the remote of a checkpoint, the provider
    of a model of everything else.
    """

    ref: RefValue
    work: JobKind
    since: datetime
    until: datetime | None
    times: int
    provider: bool
    reason: str


def postponed_work(connection: Connection, task_id: int | None = None) -> tuple[PutOff, ...]:
    """The postponed work of a task, or of all."""
    return _postponed(connection, task_id=task_id)


def postponed_work_of(connection: Connection, run_id: int) -> tuple[PutOff, ...]:
    """The postponed work of a run."""
    return _postponed(connection, run_id=run_id)


def postponed_checkpoints(connection: Connection, run_id: int | None = None) -> tuple[PutOff, ...]:
    """The postponed checkpoints: that of a run, or all."""
    return _postponed(connection, run_id=run_id, kind=JobKind.CHECKPOINT)


def _postponed(
    connection: Connection,
    *,
    task_id: int | None = None,
    run_id: int | None = None,
    kind: JobKind | None = None,
) -> tuple[PutOff, ...]:
    asked = {"task_id": task_id, "run_id": run_id, "kind": kind}
    return tuple(
        PutOff(
            ref=Ref(row.task_id, step=row.step, target=row.target),
            work=JobKind(row.kind),
            since=row.since,
            until=None if row.in_hand else row.due_at,
            times=row.postponed,
            provider=row.family == UNAVAILABLE,
            reason=row.reason,
        )
        for row in connection.execute(_PUT_OFF, asked)
    )
