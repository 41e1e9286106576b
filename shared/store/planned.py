"""The plan of a run: the steps of its task's plan, with all later changes."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, text

from shared.domain.plan import Step
from shared.wire import from_json

_STEPS = text("SELECT body FROM planned_steps WHERE run_id = :run_id ORDER BY place")
_ALL = text("""
    SELECT run_id, body FROM planned_steps
    WHERE run_id = ANY(CAST(:run_ids AS bigint[]))
      AND (CAST(:step AS bigint) IS NULL OR step = :step)
    ORDER BY run_id, place
""")
_TITLES = text("""
    SELECT step, coalesce(nullif(body ->> 'title', ''), body ->> 'key') AS title
    FROM planned_steps WHERE run_id = :run_id AND step = ANY(CAST(:steps AS bigint[]))
""")
_ADDED = text("""
    SELECT runs.id, runs.target, planned_steps.body
    FROM runs JOIN planned_steps ON planned_steps.run_id = runs.id AND planned_steps.added
    WHERE runs.task_id = :task_id ORDER BY runs.id, planned_steps.place
""")
_DETAILED = text("""
    SELECT runs.id, runs.target, planned_steps.body
    FROM runs JOIN planned_steps ON planned_steps.run_id = runs.id AND NOT planned_steps.added
    WHERE runs.task_id = :task_id AND runs.detailed ? CAST(planned_steps.step AS text)
    ORDER BY runs.id, planned_steps.place
""")


@dataclass(frozen=True, slots=True)
class AddedStep:
    """A step that the run on that target has made its own: it was added, or detailed there."""

    run_id: int
    target: str
    step: Step


def steps_of(connection: Connection, run_id: int) -> tuple[Step, ...]:
    """Every step that was ever planned for a run, in the order of their numbers."""
    return tuple(
        from_json(Step, body) for body in connection.execute(_STEPS, {"run_id": run_id}).scalars()
    )


def titles_of(connection: Connection, run_id: int, steps: Collection[int]) -> dict[int, str]:
    """The titles of these steps of a run, or their keys if they have none, by number."""
    chosen = {"run_id": run_id, "steps": list(steps)}
    return {row.step: row.title for row in connection.execute(_TITLES, chosen)}


def steps_of_runs(
    connection: Connection, run_ids: Sequence[int], *, step: int | None = None
) -> dict[tuple[int, int], Step]:
    """The planned steps of several runs, or one of each, by run and number."""
    chosen = {"run_ids": list(run_ids), "step": step}
    found = ((row.run_id, from_json(Step, row.body)) for row in connection.execute(_ALL, chosen))
    return {(run_id, planned.ordinal): planned for run_id, planned in found}


def added_steps(connection: Connection, task_id: int) -> Sequence[AddedStep]:
    """The steps that the runs of a task have in addition to its plan, run by run."""
    return _of_runs(connection.execute(_ADDED, {"task_id": task_id}))


def steps_detailed_in_turn(connection: Connection, task_id: int) -> Sequence[AddedStep]:
    """The steps of a task's plan that got their subtasks in its runs, run by run."""
    return _of_runs(connection.execute(_DETAILED, {"task_id": task_id}))


def _of_runs(found: Iterable[Any]) -> Sequence[AddedStep]:
    return [AddedStep(row.id, row.target, from_json(Step, row.body)) for row in found]
