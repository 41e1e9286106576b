"""From references to rows: the task, run and step that a person named."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from shared.domain.errors import Rejected
from shared.domain.ids import Ref
from shared.domain.next_step import NextStep
from shared.store import repositories
from shared.store.tables import RunRow, RunStepRow, TaskRow


@dataclass(frozen=True, slots=True)
class RunPlace:
    """A run: its number, its task's, and its target."""

    task_id: int
    run_id: int
    target: str

    @property
    def ref(self) -> Ref:
        """The run as people name it."""
        return Ref(self.task_id, target=self.target)

    def step(self, ordinal: int) -> Ref:
        """One of its steps as people name it."""
        return Ref(self.task_id, step=ordinal, target=self.target)


def require_task(connection: Connection, ref: Ref) -> int:
    """The number of the task; raises Rejected when there is none."""
    found = connection.execute(select(TaskRow.id).where(TaskRow.id == ref.task)).scalar()
    if found is None:
        raise Rejected(
            f"there is no task T{ref.task}", stage="input", next_step=NextStep.of("task list")
        )
    return ref.task


def runs_at(connection: Connection, ref: Ref) -> tuple[RunPlace, ...]:
    """The runs that a reference means: all, or the one on its target. Raises Rejected for none."""
    task_id = require_task(connection, ref)
    found = connection.execute(
        select(RunRow.id, RunRow.target).where(RunRow.task_id == task_id).order_by(RunRow.id)
    ).all()
    places = [RunPlace(task_id, row.id, row.target) for row in found]
    if ref.target is None:
        return tuple(places)
    chosen = tuple(place for place in places if place.target == ref.target)
    if not chosen:
        raise Rejected(
            f"T{task_id} has no target {ref.target!r}; it has {_names(places)}",
            stage="input",
            next_step=NextStep.of("task show", f"T{task_id}"),
        )
    return chosen


def require_target(connection: Connection, name: str | None) -> None:
    """Raises Rejected for what is not a repository, and what nothing ever ran on; None is all."""
    if name is None or repositories.find(connection, name) is not None:
        return
    known = select(RunRow.id).where(RunRow.target == name).limit(1)
    if connection.execute(known).first() is None:
        raise repositories.unknown(connection, name)


def one_run(connection: Connection, ref: Ref) -> RunPlace:
    """The run that a reference means; raises Rejected when the reference is ambiguous."""
    places = runs_at(connection, ref)
    if len(places) == 1:
        return places[0]
    meant = ", ".join(str(ref.at(place.target)) for place in places)
    raise Rejected(
        f"{ref} could mean any of {meant}; say which",
        stage="input",
        next_step=NextStep.of("task show", f"T{ref.task}"),
    )


def require_step(connection: Connection, ref: Ref) -> tuple[RunPlace, int]:
    """The run and the number of the step that a reference means.

    Raises Rejected when it names no step or an unknown one, or when the run has not begun.
    """
    if ref.step is None:
        raise Rejected(
            f"{ref} is not a step; write one as T{ref.task}.1",
            stage="input",
            next_step=NextStep.of("task show", f"T{ref.task}"),
        )
    place = one_run(connection, ref)
    known = connection.execute(
        select(RunStepRow.step).where(RunStepRow.run_id == place.run_id).order_by(RunStepRow.step)
    ).scalars()
    numbers = list(known)
    if ref.step not in numbers:
        raise Rejected(
            f"{place.ref} {_steps(numbers)}, but no step {ref.step}",
            stage="input",
            next_step=NextStep.of("task show", f"T{ref.task}"),
        )
    return place, ref.step


def _steps(numbers: Sequence[int]) -> str:
    if not numbers:
        return "has not begun: its steps are still being planned"
    return f"has the steps {', '.join(map(str, numbers))}" if len(numbers) > 1 else "has step 1"


def _names(places: Sequence[RunPlace]) -> str:
    return ", ".join(place.target for place in places) or "none"
