"""A list of tasks: one line each, newest first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

from orchestrator.views.failures import Failure, newest_failures
from orchestrator.views.recovery import COARSE_TASK
from orchestrator.views.spending_sums import spending_of_tasks
from orchestrator.views.values import RefValue
from shared.domain.ids import Ref
from shared.domain.task import TaskPhase

# Without the tables of SQLAlchemy: they take longer to load than the list to read.
_NEWEST = text("""
    SELECT id, phase, prompt, reason, created_at, ended_at,
           extract(epoch FROM coalesce(ended_at, clock_timestamp()) - created_at) AS seconds,
           coalesce((policy ->> 'dry_run_mode')::boolean, false) AS dry_run,
           ARRAY(SELECT target FROM runs WHERE task_id = tasks.id ORDER BY id) AS targets,
           (SELECT count(*) FROM interventions
            WHERE task_id = tasks.id AND closed_at IS NULL) AS waiting
    FROM tasks
    WHERE (CAST(:phase AS text) IS NULL OR phase = :phase)
      AND (CAST(:after AS bigint) IS NULL OR id < :after)
      AND (CAST(:target AS text) IS NULL
           OR id IN (SELECT task_id FROM runs WHERE target = :target))
    ORDER BY id DESC LIMIT :limit
""")

_ASKS = text("""
    SELECT DISTINCT ON (task_id) task_id, reason FROM interventions
    WHERE task_id = ANY(CAST(:task_ids AS bigint[])) AND closed_at IS NULL AND reason <> ''
    ORDER BY task_id, id
""")

_STOPPED = text("""
    SELECT runs.task_id, steps.run_id, steps.step
    FROM runs JOIN run_steps steps ON steps.run_id = runs.id
    WHERE runs.task_id = ANY(CAST(:task_ids AS bigint[]))
      AND steps.phase IN ('waiting', 'blocked', 'error')
    ORDER BY steps.changed_at
""")


@dataclass(frozen=True, slots=True)
class TaskLine:
    """A task in a list; `waiting` counts its open interventions.

    `tokens` and `cost`, in US dollars, are those of its planners and agents together. `state` is
    its phase in the four words of S1.22. `failure` is the newest of its commands that failed, while
    the task waits for a person or after it ended in an error; `reason` is then what it waits for.
    `seconds` have passed since it was submitted, or passed until it ended. A `dry_run` changes
    nothing.
    """

    ref: RefValue
    phase: TaskPhase
    prompt: str
    targets: tuple[str, ...]
    waiting: int
    reason: str
    created_at: datetime
    ended_at: datetime | None
    state: str = ""
    tokens: int = 0
    cost: float = 0.0
    failure: Failure | None = None
    seconds: float = 0.0
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class TaskList:
    """Tasks, newest first; with `more`, there are older ones, which follow after `next`."""

    tasks: tuple[TaskLine, ...]
    more: bool
    next: int | None = None


def list_tasks(
    connection: Connection,
    *,
    limit: int = 20,
    phase: TaskPhase | None = None,
    after: int | None = None,
    target: str | None = None,
) -> TaskList:
    """The newest tasks, at most `limit`; with `after`, those that follow it in this order.

    With a `target`, only those that run on that host or in that repository.
    """
    wanted = {"phase": phase, "after": after, "target": target, "limit": limit + 1}
    rows = connection.execute(_NEWEST, wanted).all()
    shown = rows[:limit]
    ids = [row.id for row in shown]
    sums = spending_of_tasks(connection, ids)
    stopped = [row.id for row in shown if row.phase in {TaskPhase.WAITING, TaskPhase.ERROR}]
    asks, failures = _asks(connection, stopped), _failures(connection, stopped)
    lines = tuple(
        TaskLine(
            ref=Ref(row.id),
            phase=TaskPhase(row.phase),
            state=COARSE_TASK[TaskPhase(row.phase)],
            prompt=row.prompt,
            targets=tuple(row.targets),
            waiting=row.waiting,
            reason=asks.get(row.id, row.reason),
            created_at=row.created_at,
            ended_at=row.ended_at,
            failure=failures.get(row.id),
            seconds=float(row.seconds),
            dry_run=row.dry_run,
            tokens=sums[row.id].tokens if row.id in sums else 0,
            cost=sums[row.id].cost if row.id in sums else 0.0,
        )
        for row in shown
    )
    more = len(rows) > limit
    return TaskList(lines, more=more, next=ids[-1] if more else None)


def _asks(connection: Connection, task_ids: Sequence[int]) -> dict[int, str]:
    """The reason of the first open intervention of each of these tasks."""
    if not task_ids:
        return {}
    found = connection.execute(_ASKS, {"task_ids": list(task_ids)})
    return {row.task_id: row.reason for row in found}


def _failures(connection: Connection, task_ids: Sequence[int]) -> dict[int, Failure]:
    """What failed in each of these tasks, in the step that changed last."""
    if not task_ids:
        return {}
    rows = connection.execute(_STOPPED, {"task_ids": list(task_ids)}).all()
    found = newest_failures(connection, {(row.run_id, row.step) for row in rows})
    return {
        row.task_id: found[row.run_id, row.step] for row in rows if (row.run_id, row.step) in found
    }
