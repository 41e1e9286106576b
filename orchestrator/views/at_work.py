"""Everything that is at work, from the database alone and with one query (S2.29, S2.90)."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import Connection, text

from orchestrator.views.values import RefValue
from shared.domain.budget import UNAVAILABLE
from shared.domain.ids import LOOKS, Ref
from shared.domain.jobs import JobKind
from shared.domain.task import ENDED_RUN, ENDED_STEP, ENDED_TASK


class LiveKind(StrEnum):
    """What can be at work."""

    TASK = "task"
    RUN = "run"
    STEP = "step"
    JOB = "job"
    ATTEMPT = "attempt"
    DELIVERY = "delivery"
    CHECKPOINT = "checkpoint"
    INTERVENTION = "intervention"


class Awaited(StrEnum):
    """What something waits for."""

    STEPS = "steps"  # those that it needs, `needs`
    TIME = "time"  # its job was put off
    REMOTE = "remote"  # its job was put off, because the remote cannot be reached
    WORKER = "worker"  # no worker has its job
    ACCEPTANCE = "acceptance"  # its delivery is on its way to the head of the session
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class LiveLine:
    """Something at work; `id` tells it from others of its kind.

    `phase` is where it stands: that of a task, a run or a step, of a job whether a worker has it
    (`waiting`, `held`, `expired`), of a delivery its stage. `awaits` is what it waits for, None if
    it is at work; a step then needs the steps `needs`. `detail` says more, in the words of whoever
    wrote it. `since` is when it began, `until` when what was put off is tried again. A job that a
    `worker` has shows when that last renewed its lease (S2.47), and until when the lease is.
    """

    kind: LiveKind
    ref: RefValue
    id: str
    title: str
    phase: str
    since: datetime | None
    awaits: Awaited | None = None
    needs: tuple[int, ...] = ()
    detail: str = ""
    worker: str | None = None
    heartbeat_at: datetime | None = None
    lease_until: datetime | None = None
    until: datetime | None = None

    @property
    def place(self) -> tuple[LiveKind, str]:
        """What tells it from everything else."""
        return self.kind, self.id

    @property
    def news(self) -> "LiveLine":
        """The same without what changes with every heartbeat."""
        return replace(self, heartbeat_at=None, lease_until=None)


@dataclass(frozen=True, slots=True)
class AtWork:
    """Everything at work, by task; `now` is the database's clock, for measuring spans."""

    now: datetime
    lines: tuple[LiveLine, ...]


@dataclass(frozen=True, slots=True)
class LiveChange:
    """Something that has begun to be at work, changed, or ended (`over`)."""

    line: LiveLine
    over: bool = False


def _listed(phases: Iterable[StrEnum]) -> str:
    return ", ".join(f"'{phase.value}'" for phase in sorted(phases))


_NOTHING: Final = "NULL::text"

AT_WORK: Final = f"""
    WITH moment AS (SELECT clock_timestamp() AS now),
    lines AS (
        SELECT 1 AS rank, 'task' AS kind, id AS task_id, {_NOTHING} AS target,
               NULL::bigint AS step, NULL::bigint AS subtask, NULL::bigint AS number,
               'T' || id AS id, prompt AS title, phase, created_at AS since,
               CASE phase WHEN 'waiting' THEN 'person' END AS awaits, '{{}}'::bigint[] AS needs,
               reason AS detail, {_NOTHING} AS worker, NULL::timestamptz AS heartbeat_at,
               NULL::timestamptz AS lease_until, NULL::timestamptz AS until
        FROM tasks WHERE phase NOT IN ({_listed(ENDED_TASK)})
        UNION ALL
        SELECT 2, 'run', runs.task_id, runs.target, NULL, NULL, NULL, runs.id::text,
               tasks.prompt, runs.phase, runs.started_at,
               CASE WHEN runs.paused OR runs.phase = 'waiting' THEN 'person' END, '{{}}',
               CASE WHEN runs.paused THEN 'paused' ELSE runs.reason END, NULL, NULL, NULL,
               NULL
        FROM runs JOIN tasks ON tasks.id = runs.task_id
        WHERE tasks.phase NOT IN ({_listed(ENDED_TASK)})
          AND runs.phase NOT IN ({_listed(ENDED_RUN)})
        UNION ALL
        SELECT 3, 'step', runs.task_id, runs.target, steps.step, NULL, NULL,
               runs.id || '.' || steps.step, steps.title, steps.phase, steps.changed_at,
               CASE
                   WHEN steps.phase IN ('waiting', 'blocked')
                        OR steps.acceptance ->> 'stage' = 'allowing' THEN 'person'
                   WHEN steps.phase = 'not_started' THEN 'steps'
                   WHEN steps.acceptance IS NOT NULL THEN 'acceptance'
                   WHEN job.due_at > moment.now THEN 'time'
                   WHEN job.id IS NOT NULL AND coalesce(job.lease_until < moment.now, true)
                        THEN 'worker'
               END,
               ARRAY(
                   SELECT needed.step FROM run_steps needed
                   WHERE needed.run_id = runs.id AND needed.phase NOT IN ('done', 'accepted')
                     AND needed.step = ANY(steps.depends_on) AND steps.phase = 'not_started'
                   ORDER BY needed.step
               ),
               concat_ws(
                   ': ', coalesce(steps.waits_for, steps.acceptance ->> 'stage'),
                   nullif(steps.reason, '')
               ), job.owner, NULL, NULL, NULL
        FROM run_steps steps
        JOIN runs ON runs.id = steps.run_id JOIN tasks ON tasks.id = runs.task_id
        CROSS JOIN moment
        LEFT JOIN LATERAL (
            SELECT * FROM jobs
            WHERE jobs.run_id = steps.run_id AND jobs.step = steps.step AND jobs.state = 'open'
            ORDER BY jobs.id DESC LIMIT 1
        ) job ON true
        WHERE tasks.phase NOT IN ({_listed(ENDED_TASK)})
          AND steps.phase NOT IN ({_listed(ENDED_STEP)})
        UNION ALL
        SELECT 4, 'job', jobs.task_id, runs.target, jobs.step, NULL, NULL, jobs.id::text,
               jobs.kind,
               CASE
                   WHEN jobs.lease_until IS NULL THEN 'waiting'
                   WHEN jobs.lease_until < moment.now OR jobs.lost_at IS NOT NULL THEN 'expired'
                   ELSE 'held'
               END, jobs.created_at,
               CASE
                   WHEN jobs.lease_until > moment.now THEN NULL
                   WHEN jobs.due_at > moment.now AND jobs.kind = '{JobKind.CHECKPOINT}'
                        AND failed.family = '{UNAVAILABLE}' THEN 'remote'
                   WHEN jobs.due_at > moment.now THEN 'time'
                   ELSE 'worker'
               END, '{{}}', coalesce(
                   failed.reason, 'queue ' || jobs.queue || ', claims: ' || jobs.claims
               ), jobs.owner, jobs.heartbeat_at, jobs.lease_until,
               CASE WHEN jobs.due_at > moment.now THEN jobs.due_at END
        FROM jobs CROSS JOIN moment LEFT JOIN runs ON runs.id = jobs.run_id
        LEFT JOIN LATERAL (
            SELECT body ->> 'reason' AS reason, body ->> 'family' AS family FROM events
            WHERE jobs.postponed > 0 AND events.task_id = jobs.task_id
              AND events.kind = 'JobFailed' AND body ->> 'kind' = jobs.kind
              AND events.run_id IS NOT DISTINCT FROM jobs.run_id
              AND (body ->> 'step')::bigint IS NOT DISTINCT FROM jobs.step
            ORDER BY events.id DESC LIMIT 1
        ) failed ON true
        WHERE jobs.state = 'open'
        UNION ALL
        SELECT 5, 'attempt', runs.task_id, runs.target, nullif(attempts.step, 0),
               attempts.subtask, attempts.number, attempts.key, attempts.command, 'running',
               attempts.started_at, NULL, '{{}}', attempts.reason, attempts.worker, NULL, NULL, NULL
        FROM attempts JOIN runs ON runs.id = attempts.run_id WHERE attempts.outcome = 'running'
        UNION ALL
        SELECT 6, 'delivery', runs.task_id, runs.target, deliveries.step, NULL, NULL,
               deliveries.sha256, deliveries.issue_id,
               coalesce(steps.acceptance ->> 'stage', deliveries.status), deliveries.created_at,
               CASE steps.acceptance ->> 'stage' WHEN 'allowing' THEN 'person' END, '{{}}',
               deliveries.reason, deliveries.runner, NULL, NULL, NULL
        FROM deliveries JOIN runs ON runs.id = deliveries.run_id
        LEFT JOIN run_steps steps
               ON steps.run_id = deliveries.run_id AND steps.step = deliveries.step
              AND steps.pass_no = deliveries.pass_no
        WHERE deliveries.status = 'published'
        UNION ALL
        SELECT 7, 'checkpoint', runs.task_id, runs.target, NULL, NULL, NULL,
               checkpoints.id::text, checkpoints.ref, checkpoints.stage, checkpoints.started_at,
               NULL, '{{}}', checkpoints.status, NULL, NULL, NULL, NULL
        FROM checkpoints JOIN runs ON runs.id = checkpoints.run_id
        WHERE checkpoints.finished_at IS NULL
        UNION ALL
        SELECT 8, 'intervention', open.task_id, runs.target, open.step, NULL, NULL,
               'I' || open.id, open.kind, 'waiting', open.opened_at, 'person', '{{}}',
               open.reason, NULL, NULL, NULL, NULL
        FROM interventions open LEFT JOIN runs ON runs.id = open.run_id
        WHERE open.closed_at IS NULL
    )
    SELECT moment.now, lines.* FROM moment LEFT JOIN lines
        ON (CAST(:task AS bigint) IS NULL OR lines.task_id = :task)
       AND (CAST(:target AS text) IS NULL OR lines.target = :target
            OR (lines.target IS NULL AND EXISTS (
                SELECT FROM runs WHERE runs.task_id = lines.task_id AND runs.target = :target)))
    ORDER BY lines.task_id, lines.target NULLS FIRST, lines.step NULLS FIRST, lines.rank, lines.id
"""  # noqa: S608 - nothing but constants
"""All that is at work, or that of one task or one target."""


def at_work(
    connection: Connection, *, task: int | None = None, target: str | None = None
) -> AtWork:
    """Everything at work, or what belongs to one task, or to one host or repository."""
    rows = connection.execute(text(AT_WORK), {"task": task, "target": target}).all()
    lines = tuple(_line(row) for row in rows if row.kind is not None)
    return AtWork(rows[0].now, lines)


def changes(before: AtWork | None, now: AtWork) -> tuple[LiveChange, ...]:
    """What differs between two looks, without heartbeats; what is over comes first."""
    known = {} if before is None else {line.place: line for line in before.lines}
    seen = {line.place for line in now.lines}
    over = (LiveChange(line, over=True) for place, line in known.items() if place not in seen)
    new = (
        LiveChange(line)
        for line in now.lines
        if line.place not in known or known[line.place].news != line.news
    )
    return (*over, *new)


def _line(row: Any) -> LiveLine:
    subtask = LOOKS if row.kind == LiveKind.ATTEMPT and not row.subtask else row.subtask
    ref = Ref(row.task_id, row.step, subtask, row.number, row.target)
    return LiveLine(
        kind=LiveKind(row.kind),
        ref=ref,
        id=row.id,
        title=row.title,
        phase=row.phase,
        since=row.since,
        awaits=None if row.awaits is None else Awaited(row.awaits),
        needs=tuple(row.needs),
        detail=row.detail or "",
        worker=row.worker,
        heartbeat_at=row.heartbeat_at,
        lease_until=row.lease_until,
        until=row.until,
    )
