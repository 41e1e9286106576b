"""Which processes serve: coordinators and workers, with what each does; and who serves a queue."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.views.values import RefValue
from shared.domain.ids import Ref
from shared.domain.jobs import ROLES, JobKind, QueueName
from shared.domain.process_name import (
    COORDINATOR,
    ProcessName,
    parse_owner,
    parse_process_name,
)
from shared.store import presence

SILENCE = 20.0
"""Seconds after which a process that is connected should have been heard of: each asks for a sign
of life of the database every few seconds."""

_CONNECTED = """
    SELECT DISTINCT ON (number) number, application_name AS name, backend_start AS since,
           state_change AS heard_at,
           extract(epoch FROM clock_timestamp() - state_change)::float8 AS silence
    FROM {shown} LEFT JOIN pg_stat_activity activity ON activity.pid = shown.pid
    ORDER BY number, backend_start DESC
"""

_HELD = text("""
    SELECT jobs.kind, jobs.task_id, jobs.step, jobs.presence, jobs.owner, jobs.claimed_at,
           jobs.heartbeat_at, runs.target
    FROM jobs LEFT JOIN runs ON runs.id = jobs.run_id
    WHERE jobs.state IN ('open', 'cancelled') AND jobs.owner IS NOT NULL AND jobs.lost_at IS NULL
      AND jobs.lease_until > clock_timestamp()
    ORDER BY jobs.claimed_at, jobs.id
""")

_QUEUES = text("""
    SELECT queue,
           count(*) FILTER (WHERE due_at <= now AND NOT held) AS waiting,
           count(*) FILTER (WHERE held) AS in_hand,
           count(*) FILTER (WHERE due_at > now AND NOT held) AS later,
           extract(epoch FROM now - min(due_at) FILTER (WHERE due_at <= now AND NOT held))::float8
               AS oldest
    FROM (SELECT queue, due_at, coalesce(lease_until > statement_timestamp(), false) AS held,
                 statement_timestamp() AS now
          FROM jobs WHERE state = 'open') AS open
    GROUP BY queue, now
""")


class Presence(StrEnum):
    """Whether a process is there."""

    CONNECTED = "connected"
    SILENT = "silent"  # connected, and not heard of for too long: it is frozen, or its machine is
    GONE = "gone"  # its connection has ended, and nobody has freed its jobs yet
    HIDDEN = "hidden"  # it cannot show its presence, and has jobs in hand


_THERE = frozenset({Presence.CONNECTED, Presence.HIDDEN})


@dataclass(frozen=True, slots=True)
class Work:
    """A job in the hands of a worker, which somebody first took at `since`."""

    ref: RefValue
    work: JobKind
    since: datetime | None


@dataclass(frozen=True, slots=True)
class ProcessLine:
    """A coordinator or a worker.

    `name` tells it from others. What it does not say of itself is None. `since` is when it
    connected, `heard_at` its last sign of life.
    """

    name: str
    presence: Presence
    roles: tuple[str, ...] | None
    queues: tuple[QueueName, ...] | None
    host: str | None
    pid: int | None
    version: str | None
    since: datetime | None
    heard_at: datetime | None
    work: tuple[Work, ...] = ()


@dataclass(frozen=True, slots=True)
class QueueLine:
    """A queue: `workers` serve it, None if nobody can say how many.

    Of its jobs, `waiting` are due and not taken, the oldest for `oldest` seconds; workers have
    `in_hand`; the others are put off. `messages` are unread in the broker, each rings for some
    jobs; None if the broker was not asked.
    """

    queue: QueueName
    role: str
    workers: int | None
    waiting: int
    oldest: float | None
    in_hand: int
    later: int
    messages: int | None = None


@dataclass(frozen=True, slots=True)
class Processes:
    """Every process that serves; `now` is the database's clock.

    `pooled` says that a pooler stands before the database: who serves may be hidden by it.
    """

    now: datetime
    coordinators: tuple[ProcessLine, ...]
    workers: tuple[ProcessLine, ...]
    pooled: bool


def processes(connection: Connection) -> Processes:
    """Who is connected, and who has jobs in hand."""
    held = connection.execute(_HELD).all()
    deciding = connection.execute(text(_CONNECTED.format(shown=presence.COORDINATORS))).all()
    working = connection.execute(text(_CONNECTED.format(shown=presence.SHOWN))).all()
    numbers = {row.number for row in working}
    others = [row for row in held if row.presence not in numbers]
    now: datetime = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
    return Processes(
        now,
        tuple(_connected(row, ()) for row in deciding),
        (
            *(
                _connected(row, [job for job in held if job.presence == row.number])
                for row in working
            ),
            *_others(others),
        ),
        _is_pooled(connection),
    )


def queue_lines(
    connection: Connection, workers: Iterable[ProcessLine], *, pooled: bool
) -> tuple[QueueLine, ...]:
    """Every queue, with those of the workers that serve it."""
    rows = {row.queue: row for row in connection.execute(_QUEUES)}
    return tuple(
        _queue(queue, role, rows.get(queue.value), serving(workers, queue, pooled=pooled))
        for role, queue in ROLES.items()
    )


def is_anybody(there: Iterable[ProcessLine]) -> bool:
    """Whether one of them can do something."""
    return any(each.presence in _THERE for each in there)


def serving(workers: Iterable[ProcessLine], queue: QueueName, *, pooled: bool) -> int | None:
    """How many workers serve a queue.

    None if nobody can say: of those that could, one does not tell its roles, or is hidden.
    """
    there = [each for each in workers if each.presence in _THERE]
    found = sum(1 for each in there if each.queues is not None and queue in each.queues)
    unsaid = pooled or any(each.queues is None for each in there)
    return None if unsaid and not found else found


def _connected(row: Any, held: Collection[Any]) -> ProcessLine:
    owners = [_owner(job) for job in held]
    said = parse_process_name(row.name or "") or (parse_owner(owners[0]) if owners else None)
    silent = row.silence is not None and row.silence > SILENCE
    state = Presence.SILENT if silent else Presence.CONNECTED
    return _line(f"{row.number:012x}", said, state, held, since=row.since, heard_at=row.heard_at)


def _others(held: Sequence[Any]) -> Iterable[ProcessLine]:
    """Those of whom only their jobs are seen."""
    for owner in dict.fromkeys(map(_owner, held)):
        its = [job for job in held if _owner(job) == owner]
        hidden = all(job.presence is None for job in its)
        state = Presence.HIDDEN if hidden else Presence.GONE
        yield _line(owner, parse_owner(owner), state, its)


def _line(
    name: str,
    said: ProcessName | None,
    state: Presence,
    held: Iterable[Any],
    *,
    since: datetime | None = None,
    heard_at: datetime | None = None,
) -> ProcessLine:
    heard = [at for at in (heard_at, *(job.heartbeat_at for job in held)) if at is not None]
    decides = said is not None and said.roles == (COORDINATOR,)
    return ProcessLine(
        name=name if said is None else str(said),
        presence=state,
        roles=None if said is None else said.roles,
        queues=None if said is None or decides else tuple(sorted(said.queues)),
        host=None if said is None else said.host,
        pid=None if said is None else said.pid,
        version=None if said is None else said.version or None,
        since=since,
        heard_at=max(heard, default=None),
        work=_work(held),
    )


def _work(held: Iterable[Any]) -> tuple[Work, ...]:
    return tuple(
        Work(Ref(job.task_id, step=job.step, target=job.target), JobKind(job.kind), job.claimed_at)
        for job in held
    )


def _owner(job: Any) -> str:
    """The name of the worker of a claim (`workers.wiring`)."""
    owner: str = job.owner
    return owner.partition("/")[0]


def _queue(queue: QueueName, role: str, row: Any, workers: int | None) -> QueueLine:
    if row is None:
        return QueueLine(queue, role, workers, 0, None, 0, 0)
    return QueueLine(queue, role, workers, row.waiting, row.oldest, row.in_hand, row.later)


def _is_pooled(connection: Connection) -> bool:
    """Whether another server process answers than the one that we were told of."""
    driver: Any = connection.connection.driver_connection
    return not presence.is_direct(driver)
