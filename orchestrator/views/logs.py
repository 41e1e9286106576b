"""What the commands of a task have written, attempt by attempt."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.views.attempts import AttemptView, attempt_view
from orchestrator.views.places import runs_at
from orchestrator.views.titles import TITLE
from orchestrator.views.values import RefValue
from shared.domain.ids import Ref
from shared.domain.outcome import GREEN
from shared.domain.task import TaskPhase
from shared.store.sql_list import sql_list

_FAILED = f"(a.counted OR a.rollback AND a.outcome NOT IN ({sql_list(GREEN)}, 'running'))"

_RAN = text(f"""
    SELECT a.id, a.key, a.step, a.subtask, a.number, a.outcome = 'running' AS running, r.target,
        s.title AS step_title, {TITLE} AS title, {_FAILED} AS failed
    FROM attempts a
    JOIN runs r ON r.id = a.run_id
    JOIN run_steps s ON s.run_id = a.run_id AND s.step = a.step
    WHERE a.run_id = ANY(CAST(:runs AS bigint[])) AND NOT a.look
      AND (a.id > :after OR a.id = ANY(CAST(:also AS bigint[])))
      AND (CAST(:step AS bigint) IS NULL OR a.step = :step)
      AND (CAST(:subtask AS bigint) IS NULL OR a.subtask = :subtask)
      AND (CAST(:attempt AS bigint) IS NULL OR a.number = :attempt)
      AND (a.counted OR a.ran_at IS NOT NULL OR a.outcome IN ('running', 'unknown'))
    ORDER BY a.id
""")  # noqa: S608 - constants


@dataclass(frozen=True, slots=True)
class LogPlace:
    """An attempt that has written something, or may: what it belongs to, and whether it runs."""

    id: int
    ref: RefValue
    key: str
    step_title: str
    title: str
    running: bool
    failed: bool


@dataclass(frozen=True, slots=True)
class LoggedAttempt:
    """An attempt of a subtask of that title, with all that it has written so far."""

    step_title: str
    title: str
    view: AttemptView


@dataclass(frozen=True, slots=True)
class TaskLogs:
    """The output of the commands of a task, in the order in which they began."""

    ref: RefValue
    phase: TaskPhase
    attempts: tuple[LoggedAttempt, ...]


def places_of_logs(
    connection: Connection, ref: Ref, after: int = 0, also: tuple[int, ...] = ()
) -> tuple[LogPlace, ...]:
    """The attempts at a place that ran a command, oldest first: those after `after`, and `also`.

    Raises Rejected where there is no such task or target.
    """
    places = {place.run_id: place for place in runs_at(connection, ref)}
    given = {"runs": list(places), "after": after, "also": list(also)}
    at = {"step": ref.step, "subtask": ref.subtask, "attempt": ref.attempt}
    return tuple(_place(row, ref) for row in connection.execute(_RAN, given | at))


def logged(connection: Connection, place: LogPlace) -> LoggedAttempt:
    """An attempt with its whole output, that of one that runs as far as it has come."""
    view = attempt_view(connection, place.ref, full=True, live=True)
    return LoggedAttempt(place.step_title, place.title, view)


def _place(row: Any, ref: Ref) -> LogPlace:
    return LogPlace(
        id=row.id,
        ref=Ref(ref.task, row.step, row.subtask, row.number, target=row.target),
        key=row.key,
        step_title=row.step_title,
        title=row.title or "",
        running=row.running,
        failed=row.failed,
    )
