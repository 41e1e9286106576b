"""What nobody takes: jobs that wait for a worker, reports that wait for a coordinator."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

from orchestrator.views import entries
from orchestrator.views.entries import Entry
from shared.domain.ids import Ref
from shared.domain.jobs import ASKING, ROLES
from shared.store import presence

PATIENCE = 10.0
"""Seconds after which somebody should have taken them."""

_UNCLAIMED = text("""
    SELECT queue, clock_timestamp() AS at,
           extract(epoch FROM clock_timestamp() - min(due_at)) AS seconds
    FROM jobs
    WHERE task_id = :task AND state = 'open'
      AND due_at < clock_timestamp() - make_interval(secs => :patience)
      AND (lease_until IS NULL OR lease_until < clock_timestamp())
    GROUP BY queue ORDER BY queue
""")

_UNREAD = text("""
    SELECT clock_timestamp() AS at,
           extract(epoch FROM clock_timestamp() - min(created_at)) AS seconds
    FROM inbox
    WHERE task_id = :task AND created_at < clock_timestamp() - make_interval(secs => :patience)
    HAVING count(*) > 0
""")

_UNANSWERED = text("""
    SELECT interventions.id, interventions.reason, interventions.step, runs.target,
           clock_timestamp() AS at,
           extract(epoch FROM clock_timestamp() - opened_at) AS seconds
    FROM interventions JOIN runs ON runs.id = interventions.run_id
    WHERE interventions.task_id = :task AND kind = 'unknown' AND closed_at IS NULL
      AND opened_at < clock_timestamp() - make_interval(secs => :patience)
    ORDER BY interventions.id
""")


_UNCLAIMED_ANYWHERE = text("""
    SELECT queue, count(*) AS jobs,
           extract(epoch FROM clock_timestamp() - min(due_at)) AS seconds
    FROM jobs
    WHERE state = 'open' AND due_at < clock_timestamp() - make_interval(secs => :patience)
      AND (lease_until IS NULL OR lease_until < clock_timestamp())
    GROUP BY queue ORDER BY queue
""")

_CONNECTED = text(f"""
    SELECT count(DISTINCT number) AS present, EXISTS (
        SELECT FROM jobs WHERE state = 'open' AND lease_until > clock_timestamp()
    ) AS working
    FROM {presence.SHOWN}
""")  # noqa: S608 - nothing but constants

_IN_HAND = text("""
    SELECT queue, split_part(owner, '.', 1) AS roles, count(*) AS jobs, max(claimed_at) AS last
    FROM jobs WHERE state = 'open' AND lease_until > clock_timestamp() GROUP BY 1, 2
""")
"""What workers have in hand; the name of a worker begins with its roles (`workers.wiring`)."""

_UNREAD_ANYWHERE = text("""
    SELECT count(*) AS reports,
           coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0) AS seconds
    FROM inbox WHERE created_at < clock_timestamp() - make_interval(secs => :patience)
""")


@dataclass(frozen=True, slots=True)
class Unclaimed:
    """Jobs of a queue that nobody has taken; `seconds` is how long the oldest has been due.

    The other fields are as in `entries.Unclaimed`.
    """

    queue: str
    role: str
    jobs: int
    seconds: float
    workers: int | None
    places: int
    full_since: datetime | None


@dataclass(frozen=True, slots=True)
class Unread:
    """Reports that no coordinator has read; `seconds` is the age of the oldest."""

    reports: int
    seconds: float


def unclaimed_jobs(connection: Connection) -> Sequence[Unclaimed]:
    """Jobs of all tasks that have waited too long, by queue."""
    roles = {queue.value: role for role, queue in ROLES.items()}
    found = connection.execute(_UNCLAIMED_ANYWHERE, {"patience": PATIENCE}).all()
    workers = _workers(connection) if found else None
    return [
        Unclaimed(
            row.queue,
            roles[row.queue],
            row.jobs,
            float(row.seconds),
            workers,
            *_full(connection, row.queue),
        )
        for row in found
    ]


def _full(connection: Connection, queue: str) -> tuple[int, datetime | None]:
    """How many jobs those workers have in hand that serve the queue, and since when so many.

    A worker looks for jobs whenever it has a free place. So one that leaves a job has none.
    """
    role = {each.value: role for role, each in ROLES.items()}[queue]
    asks = queue in ASKING
    rows = [
        row
        for row in connection.execute(_IN_HAND)
        if (row.queue in ASKING) is asks and {"all", role} & set(row.roles.split("-"))
    ]
    return sum(row.jobs for row in rows), max((row.last for row in rows), default=None)


def _workers(connection: Connection) -> int | None:
    """How many worker processes are connected; None if they cannot show their presence."""
    row = connection.execute(_CONNECTED).one()
    return int(row.present) if row.present or not row.working else None


def unread_reports(connection: Connection) -> Unread:
    """Reports about all tasks that have waited too long."""
    row = connection.execute(_UNREAD_ANYWHERE, {"patience": PATIENCE}).one()
    return Unread(row.reports, float(row.seconds))


def stalls(connection: Connection, task_id: int) -> Sequence[Entry]:
    """What has waited too long in this task."""
    unanswered = [
        Entry(
            row.at,
            Ref(task_id, step=row.step, target=row.target),
            entries.Unanswered(row.id, row.reason, float(row.seconds)),
        )
        for row in connection.execute(_UNANSWERED, {"task": task_id, "patience": PATIENCE})
    ]
    return [*untaken_work(connection, task_id), *unanswered]


def untaken_work(connection: Connection, task_id: int) -> Sequence[Entry]:
    """What no worker and no coordinator has taken in time, of this task."""
    asked = {"task": task_id, "patience": PATIENCE}
    roles = {queue.value: role for role, queue in ROLES.items()}
    place = Ref(task_id)
    unclaimed = connection.execute(_UNCLAIMED, asked).all()
    workers = _workers(connection) if unclaimed else None
    found = [
        Entry(
            row.at,
            place,
            entries.Unclaimed(
                row.queue,
                roles[row.queue],
                float(row.seconds),
                workers,
                *_full(connection, row.queue),
            ),
        )
        for row in unclaimed
    ]
    found += [
        Entry(row.at, place, entries.Unread(float(row.seconds)))
        for row in connection.execute(_UNREAD, asked)
    ]
    return found
