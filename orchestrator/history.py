"""Folding events again, and comparing the result with the rows (law 2 of the design)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.core.machine import RULES_VERSION, advance
from orchestrator.core.state import RunState, StepState, TaskState
from orchestrator.rows import PARKED, run_state, task_state
from shared.domain.config import Policy
from shared.domain.errors import Defect, ReplanError
from shared.domain.facts import RunStarted
from shared.domain.ids import Ref
from shared.fact_wire import decode_fact
from shared.store.connection import PATIENT
from shared.store.database import Database
from shared.wire import from_json

MOST_TASKS = 500
"""So many tasks are folded: those that have not ended come first, then the newest."""

_AT_A_TIME = 20
"""Tasks that are read by one transaction."""

_SHOWN = 60
"""Characters of a value that differs."""

_CHOSEN = text("SELECT id FROM tasks ORDER BY (ended_at IS NULL) DESC, id DESC LIMIT :most")
_TASKS = text("SELECT * FROM tasks WHERE id = ANY(:ids) ORDER BY id")
_RUNS = text("""
    SELECT *, phase AS run_phase, reason AS run_reason FROM runs
    WHERE task_id = ANY(:ids) ORDER BY id
""")
_STEPS = text("""
    SELECT run_steps.* FROM run_steps JOIN runs ON runs.id = run_steps.run_id
    WHERE runs.task_id = ANY(:ids) ORDER BY run_id, step
""")
_EVENTS = text("SELECT * FROM events WHERE task_id = ANY(:ids) ORDER BY id")


@dataclass
class Replay:
    """A task and its runs, told by their facts in the order in which they were folded in."""

    task: TaskState = field(default_factory=TaskState)
    runs: dict[int, RunState] = field(default_factory=dict)

    def tell(self, run_id: int | None, kind: str, body: Any) -> None:
        """Fold in one event; raises Defect for one that cannot have come about here.

        `RunStarted` is recorded without policy and plan: they are those of the task just then.
        """
        if kind == PARKED:
            return
        if run_id is None:
            self.task, _ = advance(self.task, decode_fact(kind, body))  # type: ignore[arg-type]
            return
        fact = (
            self._run_started()
            if kind == RunStarted.__name__ and not body
            else decode_fact(kind, body)
        )
        run = self.runs.get(run_id, RunState(id=run_id))
        self.runs[run_id], _ = advance(run, fact)  # type: ignore[arg-type]

    def _run_started(self) -> RunStarted:
        if self.task.plan is None:
            raise Defect("a run began before its task had a plan", stage="fold")
        return RunStarted(self.task.policy, self.task.plan)


@dataclass(frozen=True, slots=True)
class Divergence:
    """A task whose events lead elsewhere than its rows say."""

    task_id: int
    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a comparison found: how many tasks it folded, and how many only older rules could."""

    folded: int
    older: int
    divergences: tuple[Divergence, ...]


def compare(database: Database, *, most: int = MOST_TASKS) -> Comparison:
    """Fold the events of at most `most` tasks and compare what comes of it with their rows.

    A task with events of another `RULES_VERSION` is skipped: those rules no longer exist.
    """
    with database.begin(PATIENT) as connection:
        chosen = list(connection.execute(_CHOSEN, {"most": most}).scalars())
    folded = older = 0
    found: list[Divergence] = []
    for start in range(0, len(chosen), _AT_A_TIME):
        with database.reading(PATIENT) as connection:
            for told in _read(connection, chosen[start : start + _AT_A_TIME]):
                if any(event.rules != RULES_VERSION for event in told.events):
                    older += 1
                    continue
                folded += 1
                found += _divergences(told)
    return Comparison(folded, older, tuple(found))


@dataclass(frozen=True, slots=True)
class _Recorded:
    """The events of a task, and its rows."""

    task_id: int
    events: Sequence[Any]
    task: TaskState
    runs: Mapping[int, RunState]
    targets: Mapping[int, str]


def _read(connection: Connection, task_ids: Sequence[int]) -> Iterator[_Recorded]:
    chosen = {"ids": list(task_ids)}
    events, steps, runs = (
        connection.execute(query, chosen).all() for query in (_EVENTS, _STEPS, _RUNS)
    )
    for row in connection.execute(_TASKS, chosen).all():
        own = [run for run in runs if run.task_id == row.id]
        policy = from_json(Policy, row.policy)
        yield _Recorded(
            task_id=row.id,
            events=[event for event in events if event.task_id == row.id],
            task=task_state(row, {run.id: run.phase for run in own}),
            runs={
                run.id: run_state(run, policy, [s for s in steps if s.run_id == run.id])
                for run in own
            },
            targets={run.id: run.target for run in own},
        )


def _divergences(told: _Recorded) -> Iterator[Divergence]:
    """Where the rows differ from what their events lead to; the first event that is refused."""
    if not told.events:  # nothing was folded in yet
        return
    story = Replay()
    for event in told.events:
        try:
            story.tell(event.run_id, event.kind, event.body)
        except ReplanError as error:
            reason = f"event {event.id} ({event.kind}) cannot be folded: {error.reason}"
            yield Divergence(told.task_id, f"T{told.task_id}", reason)
            return
    place = Ref(told.task_id)
    yield from _differences(place, replace(story.task, runs=told.task.runs), told.task)
    for run_id, row in told.runs.items():
        run = story.runs.get(run_id, RunState(id=run_id))
        at = place.at(told.targets[run_id])
        yield from _differences(
            at, replace(run, policy=row.policy, steps={}), replace(row, steps={})
        )
        for ordinal in sorted({*run.steps, *row.steps}):
            here = Ref(told.task_id, step=ordinal, target=told.targets[run_id])
            yield from _differences(here, run.steps.get(ordinal), row.steps.get(ordinal))


_State = TaskState | RunState | StepState | None


def _differences(place: Ref, folded: _State, row: _State) -> Iterable[Divergence]:
    if folded == row:
        return
    if folded is None or row is None:
        which = "its events know it, and it has no row" if row is None else "no event knows it"
        yield Divergence(place.task, str(place), which)
        return
    for name in (each.name for each in fields(row)):
        here, there = getattr(row, name), getattr(folded, name)
        if here != there:
            reason = f"{name} is {_brief(here)}, and its events lead to {_brief(there)}"
            yield Divergence(place.task, str(place), reason)


def _brief(value: object) -> str:
    shown = str(value)
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"
