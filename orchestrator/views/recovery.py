"""How a task recovers: what was retried, what waits for a resumption (S1.5, S1.9, S1.10)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.views.values import RefValue
from shared.domain.ids import Ref
from shared.domain.task import RunPhase, TaskPhase

WAITING_FOR_RESUME = "waiting_for_resume"

COARSE_TASK: dict[TaskPhase, str] = {
    TaskPhase.SUBMITTED: "NotStarted",
    TaskPhase.REFINING: "Running",
    TaskPhase.PLANNING: "Running",
    TaskPhase.DETAILING: "Running",
    TaskPhase.RUNNING: "Running",
    TaskPhase.WAITING: "Error",
    TaskPhase.DONE: "Done",
    TaskPhase.ERROR: "Error",
    TaskPhase.CANCELLED: "Error",
}
COARSE_RUN: dict[RunPhase, str] = {
    RunPhase.NOT_STARTED: "NotStarted",
    RunPhase.RUNNING: "Running",
    RunPhase.WAITING: "Error",
    RunPhase.DONE: "Done",
    RunPhase.ERROR: "Error",
    RunPhase.CANCELLED: "Error",
}
"""The phases of tasks and runs in the four words of S1.22; what waits for a person is in Error."""

_FAILED = text("""
    SELECT runs.target, s.step, s.failures, s.phase = 'error' OR EXISTS (
            SELECT FROM interventions asked WHERE asked.run_id = s.run_id AND asked.step = s.step
              AND asked.kind = 'escalation' AND asked.closed_at IS NULL
        ) AS used_up,
        count(told.id) AS retries, max(told.at) AS at
    FROM run_steps s
    JOIN runs ON runs.id = s.run_id
    LEFT JOIN events told ON told.task_id = runs.task_id AND told.run_id = s.run_id
         AND told.kind = 'PassFinished' AND (told.body ->> 'step')::bigint = s.step
         AND told.body ->> 'ending' IN ('threshold', 'incomplete')
    WHERE runs.task_id = :task_id AND s.recovery = 'retry'
      AND (CAST(:target AS text) IS NULL OR runs.target = :target)
    GROUP BY runs.id, runs.target, s.run_id, s.step, s.phase, s.failures, s.recovery
    HAVING count(told.id) > 0
    ORDER BY runs.id, s.step
""")


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """Why a task waits, in the shape of S1.10."""

    failed_retries: int
    status: str
    message: str


@dataclass(frozen=True, slots=True)
class RetryRecord:
    """A step that failed and is retried: how often in a row, how often in total, and when last."""

    ref: RefValue
    current: int
    failures: int
    last_at: datetime


@dataclass(frozen=True, slots=True)
class TaskContext:
    """The errors of a task; `error_info` is set while it waits for a resumption."""

    error_info: ErrorInfo | None
    retries: tuple[RetryRecord, ...]


NO_ERRORS = TaskContext(None, ())
"""Nothing was retried."""


def task_context(connection: Connection, task_id: int, target: str | None) -> TaskContext:
    """The context of a task, or of its run on one target."""
    rows = connection.execute(_FAILED, {"task_id": task_id, "target": target}).all()
    records = tuple(
        RetryRecord(
            ref=Ref(task_id, step=row.step, target=row.target),
            current=row.failures,
            failures=row.retries,
            last_at=row.at,
        )
        for row in rows
    )
    return TaskContext(_error_info(rows), records)


def _error_info(rows: Sequence[Any]) -> ErrorInfo | None:
    """The step with the most retries represents its task."""
    most = max(_used_up(rows), default=0)
    if not most:
        return None
    return ErrorInfo(most, WAITING_FOR_RESUME, f"Task failed after {most} retries")


def _used_up(rows: Iterable[Any]) -> Iterable[int]:
    return (row.failures for row in rows if row.used_up)
