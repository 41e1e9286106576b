"""The whole installation at a glance: who serves, what waits, and for whom."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection, text

from orchestrator.views.failures import Failure, failures_behind
from orchestrator.views.postponed import PutOff, postponed_work
from orchestrator.views.processes import (
    ProcessLine,
    QueueLine,
    is_anybody,
    processes,
    queue_lines,
)
from orchestrator.views.values import RefValue
from shared.domain.ids import Ref
from shared.domain.jobs import QueueName
from shared.domain.task import ENDED_TASK, TaskPhase
from shared.store import hosts

_TASKS = text(
    "SELECT phase, count(*) AS tasks FROM tasks WHERE phase <> ALL(:ended) GROUP BY phase"
)

_REPORTS = text("""
    SELECT count(*) AS reports,
           extract(epoch FROM clock_timestamp() - min(created_at))::float8 AS oldest
    FROM inbox
""")

_OPEN = text("""
    SELECT open.id, open.kind, open.task_id, open.run_id, open.step, open.reason, open.opened_at,
           runs.target
    FROM interventions open LEFT JOIN runs ON runs.id = open.run_id
    WHERE open.closed_at IS NULL ORDER BY open.opened_at, open.id
""")


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """An intervention that waits for a person; `id` is what people type: `I7`.

    `failure` is what failed in its step, if that is why it was opened.
    """

    id: str
    ref: RefValue
    kind: str
    reason: str
    since: datetime
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class DisabledHost:
    """A host on which nothing may run, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Status:
    """What serves and what waits; `now` is the database's clock.

    `tasks` counts those that have not ended, by phase. `reports` are not read by a coordinator yet,
    the oldest for `oldest_report` seconds. `put_off` is work that is tried again later, as where a
    host cannot be reached. `broker` is why it cannot be asked, None if it answers.
    """

    now: datetime
    tasks: Mapping[str, int]
    coordinators: tuple[ProcessLine, ...]
    workers: tuple[ProcessLine, ...]
    pooled: bool
    queues: tuple[QueueLine, ...]
    reports: int
    oldest_report: float | None
    questions: tuple[OpenQuestion, ...]
    disabled: tuple[DisabledHost, ...]
    put_off: tuple[PutOff, ...] = ()
    broker: str | None = None


def status(connection: Connection) -> Status:
    """The installation as the database knows it: the messages of its queues are unknown."""
    found = processes(connection)
    phases = {"ended": sorted(phase.value for phase in ENDED_TASK)}
    counted = {row.phase: row.tasks for row in connection.execute(_TASKS, phases)}
    reports = connection.execute(_REPORTS).one()
    return Status(
        now=found.now,
        tasks={phase: counted[phase] for phase in TaskPhase if phase in counted},
        coordinators=found.coordinators,
        workers=found.workers,
        pooled=found.pooled,
        queues=queue_lines(connection, found.workers, pooled=found.pooled),
        reports=reports.reports,
        oldest_report=reports.oldest,
        questions=_questions(connection),
        disabled=tuple(
            DisabledHost(host.name, host.distrusted)
            for host in hosts.all_hosts(connection)
            if host.distrusted
        ),
        put_off=postponed_work(connection),
    )


def _questions(connection: Connection) -> tuple[OpenQuestion, ...]:
    rows = connection.execute(_OPEN).all()
    failures = failures_behind(connection, rows)
    return tuple(
        OpenQuestion(
            f"I{row.id}",
            Ref(row.task_id, step=row.step, target=row.target),
            row.kind,
            row.reason,
            row.opened_at,
            failures.get(row.id),
        )
        for row in rows
    )


def is_running(found: Status) -> bool:
    """Whether somebody decides and somebody works, as far as can be known."""
    return found.pooled or (is_anybody(found.coordinators) and is_anybody(found.workers))


def with_messages(
    lines: tuple[QueueLine, ...], counts: Mapping[QueueName, int]
) -> tuple[QueueLine, ...]:
    """The same queues with the unread messages that the broker has counted."""
    return tuple(replace(each, messages=counts.get(each.queue)) for each in lines)
