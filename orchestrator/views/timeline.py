"""The timeline of a task: events, attempts, escalations and interventions in order."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select, text

from orchestrator.rows import PARKED
from orchestrator.views.agents import spent_by
from orchestrator.views.attempts import AttemptLine, attempt_line
from orchestrator.views.entries import (
    About,
    AttemptBegun,
    AttemptEnded,
    Closed,
    Entry,
    Escalated,
    Noted,
    Opened,
    Parked,
    Recorded,
    TaskEnded,
    Unreadable,
)
from orchestrator.views.interventions import interventions_since
from orchestrator.views.places import require_task
from shared.domain.errors import Defect
from shared.domain.facts import RunStarted
from shared.domain.ids import Ref
from shared.domain.task import ENDED_TASK, TaskPhase
from shared.fact_wire import decode_fact
from shared.store.attempt_notes import note_of
from shared.store.attempts import RUNNING
from shared.store.model_calls import AttemptSpending
from shared.store.tables import EventRow, RunRow, RunStepRow, TaskRow

_AT_WORK = {phase.value for phase in TaskPhase} - {
    p.value for p in (*ENDED_TASK, TaskPhase.WAITING)
}

_WITHOUT_BODY = RunStarted.__name__
"""The first passes tell that a run began; the plan in this fact is in the row of the task."""

# Attempts of one step are committed in order; those of different steps in any order.
_ATTEMPTS = text("""
    WITH told AS (
        SELECT * FROM jsonb_to_recordset(CAST(:told AS jsonb))
            AS each(run_id bigint, step bigint, attempt bigint)
    )
    SELECT attempts.*, runs.target, coalesce(told.attempt, 0) AS newest_told,
           NOT attempts.look AND run_steps.phase = 'ready' AND run_steps.pass_no <= attempts.pass_no
               AND attempts.started_at > clock_timestamp() - interval '2 seconds' AS early
    FROM runs
    JOIN (
        SELECT run_id, step, phase, pass_no FROM run_steps
        UNION ALL  -- while a task is planned, its steps have no rows, and its planners may look
        SELECT DISTINCT looked.id, coalesce(look_rounds.step, 0), '', 0
        FROM look_rounds JOIN runs looked ON looked.task_id = look_rounds.task_id
        WHERE look_rounds.task_id = :task_id AND look_rounds.run_id IS NULL
          AND NOT EXISTS (
              SELECT FROM run_steps known
              WHERE known.run_id = looked.id AND known.step = coalesce(look_rounds.step, 0)
          )
    ) AS run_steps ON run_steps.run_id = runs.id
    LEFT JOIN told ON told.run_id = runs.id AND told.step = run_steps.step
    JOIN attempts ON attempts.run_id = runs.id AND attempts.step = run_steps.step
         AND (attempts.id > coalesce(told.attempt, 0)
              OR attempts.id = ANY(CAST(:running AS bigint[])))
    WHERE runs.task_id = :task_id
    ORDER BY attempts.id
""")

_NOTES = text("""
    WITH told AS (
        SELECT * FROM jsonb_to_recordset(CAST(:told AS jsonb))
            AS each(run_id bigint, step bigint, note bigint)
    )
    SELECT notes.*, runs.target, attempts.subtask, attempts.number
    FROM runs
    JOIN attempt_notes notes ON notes.run_id = runs.id
    JOIN attempts ON attempts.key = notes.attempt_key
    LEFT JOIN told ON told.run_id = runs.id AND told.step = notes.step
    WHERE runs.task_id = :task_id AND notes.id > coalesce(told.note, 0)
    ORDER BY notes.id
""")

# A planner was asked if a model was called, or if the answer is not from the fix memory.
_ESCALATIONS = text("""
    SELECT jobs.id, jobs.step, jobs.created_at, runs.target,
           jobs.claimed_at IS NOT NULL AND NOT EXISTS (
               SELECT FROM events WHERE events.task_id = jobs.task_id
                 AND events.run_id = jobs.run_id AND events.kind = 'StepRevised'
                 AND (events.body ->> 'step')::bigint = jobs.step
                 AND (events.body ->> 'revision')::bigint = jobs.revision + 1
                 AND events.body ->> 'fix' IS NOT NULL
           ) AS asked,
           EXISTS (SELECT FROM model_calls WHERE model_calls.job_id = jobs.id)
           OR jobs.state <> 'open' AND NOT EXISTS (
               SELECT FROM inbox WHERE inbox.run_id = jobs.run_id AND inbox.kind = 'StepRevised'
           ) AS settled
    FROM jobs JOIN runs ON runs.id = jobs.run_id
    WHERE runs.task_id = :task_id AND jobs.kind = 'revise' AND jobs.postponed = 0
      AND jobs.looks = 0
      AND (jobs.id > :job OR jobs.id = ANY(CAST(:unsettled AS bigint[])))
    ORDER BY jobs.id
""")


@dataclass(frozen=True, slots=True)
class StepCursor:
    """The newest attempt and the newest note of a step in a run that the reader has seen."""

    run_id: int
    step: int
    attempt: int
    note: int = 0


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a reader has read the timeline of a task.

    `unsettled` are the jobs that may still ask a planner, `waiting` the interventions that were
    open, `running` the attempts that had not ended.
    """

    event: int = 0
    job: int = 0
    unsettled: tuple[int, ...] = ()
    intervention: int = 0
    waiting: tuple[int, ...] = ()
    steps: tuple[StepCursor, ...] = ()
    running: tuple[int, ...] = ()
    ended_at: datetime | None = None


BEGINNING = Cursor()
"""The cursor of a reader that has read nothing."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """Entries by time, and the cursor for the next ones."""

    entries: tuple[Entry, ...]
    cursor: Cursor


def read_timeline(connection: Connection, ref: Ref, after: Cursor = BEGINNING) -> Timeline:
    """The entries after a cursor; a reader that continues from the returned cursor sees each once.

    Raises Rejected when there is no such task.
    """
    task_id = require_task(connection, ref)
    task = connection.execute(
        select(TaskRow.phase, TaskRow.reason, TaskRow.ended_at).where(TaskRow.id == task_id)
    ).one()
    told: list[Entry] = []
    cursor = _read_events(connection, task_id, after, told)
    cursor = _read_attempts(connection, task_id, cursor, told, at_work=task.phase in _AT_WORK)
    cursor = _read_notes(connection, task_id, cursor, told)
    cursor = _read_escalations(connection, task_id, cursor, told)
    cursor = _read_interventions(connection, task_id, cursor, told)
    if task.phase in ENDED_TASK and task.ended_at not in {None, after.ended_at}:
        cursor = replace(cursor, ended_at=task.ended_at)
        ended = TaskEnded(TaskPhase(task.phase), task.reason)
        name = f"end-{task.ended_at.timestamp():.6f}"
        told.append(Entry(task.ended_at, Ref(task_id), ended, name))
    of_target = [e for e in told if ref.target is None or e.ref.target in {None, ref.target}]
    ordered = sorted(of_target, key=lambda entry: entry.at)
    return Timeline(tuple(ordered), cursor)


def _read_events(connection: Connection, task_id: int, after: Cursor, told: list[Entry]) -> Cursor:
    rows = connection.execute(
        select(EventRow.__table__, RunRow.target)
        .outerjoin(RunRow, RunRow.id == EventRow.run_id)
        .where(EventRow.task_id == task_id, EventRow.id > after.event)
        .order_by(EventRow.id)
    ).all()
    if not rows:
        return after
    titles = _titles(connection, task_id)
    told += [entry_of(row, titles) for row in rows if row.kind != _WITHOUT_BODY]
    return replace(after, event=rows[-1].id)


def entry_of(row: Any, titles: Mapping[int, str]) -> Entry:
    """The entry of a recorded event; `titles` are those of the steps."""
    step, about = _read(row, titles)
    ref = Ref(row.task_id, step=step, target=row.target)
    return Entry(row.at, ref, about, f"event-{row.id}")


def _read(row: Any, titles: Mapping[int, str]) -> tuple[int | None, About]:
    if row.kind == PARKED:
        return None, Parked(row.body["error"])
    try:
        fact = decode_fact(row.kind, row.body)
    except Defect as error:
        return None, Unreadable(error.reason)
    step: int | None = getattr(fact, "step", None)
    return step, Recorded(fact, titles.get(step or 0, ""))


def _titles(connection: Connection, task_id: int) -> dict[int, str]:
    found = connection.execute(
        select(RunStepRow.step, RunStepRow.title)
        .join(RunRow, RunRow.id == RunStepRow.run_id)
        .where(RunRow.task_id == task_id)
    )
    return {row.step: row.title for row in found}


def _read_attempts(
    connection: Connection, task_id: int, after: Cursor, told: list[Entry], *, at_work: bool
) -> Cursor:
    """Read new attempts; one that precedes the start of its pass is read later."""
    newest = {(each.run_id, each.step): each for each in after.steps}
    chosen = {
        "task_id": task_id,
        "told": json.dumps([asdict(each) for each in after.steps]),
        "running": list(after.running),
    }
    held: set[tuple[int, int]] = set()
    running: list[int] = []
    rows = connection.execute(_ATTEMPTS, chosen).all()
    spent = spent_by(connection, [row for row in rows if row.outcome != RUNNING])
    for row in rows:
        place = row.run_id, row.step
        if place in held or (at_work and row.early):
            held.add(place)
            continue
        told += _of_row(row, task_id, spent)
        seen = newest.get(place, StepCursor(*place, 0))
        newest[place] = replace(seen, attempt=max(row.id, seen.attempt))
        if row.outcome == RUNNING:
            running.append(row.id)
    return replace(after, steps=tuple(newest.values()), running=tuple(running))


def _read_notes(connection: Connection, task_id: int, after: Cursor, told: list[Entry]) -> Cursor:
    """Read new notes on attempts that have been read.

    Those of one step are committed in order; those of different steps in any order.
    """
    seen = {(each.run_id, each.step): each for each in after.steps}
    chosen = {"task_id": task_id, "told": json.dumps([asdict(each) for each in after.steps])}
    for row in connection.execute(_NOTES, chosen):
        step = seen.get((row.run_id, row.step))
        if step is None:
            continue
        seen[row.run_id, row.step] = replace(step, note=row.id)
        told.append(_of_note(row, task_id))
    return replace(after, steps=tuple(seen.values()))


def _of_note(row: Any, task_id: int) -> Entry:
    ref = Ref(task_id, row.step, row.subtask, row.number, target=row.target)
    about: About
    try:
        about = Noted(note_of(row))
    except Defect as error:
        about = Unreadable(error.reason)
    return Entry(row.at, ref, about, f"note-{row.id}")


def _of_row(row: Any, task_id: int, spent: Mapping[str, AttemptSpending]) -> Iterator[Entry]:
    line = attempt_line(row, task_id, row.target, spent)
    if line.correction is not None and row.id > row.newest_told:
        begun = AttemptBegun(_at_start(line))
        yield Entry(line.started_at, line.ref, begun, f"attempt-{line.id}-begun")
    if row.outcome != RUNNING:
        at = line.ended_at or line.started_at
        yield Entry(at, line.ref, AttemptEnded(line), f"attempt-{line.id}")


def _at_start(line: AttemptLine) -> AttemptLine:
    """The attempt as it was when it began."""
    return replace(line, outcome=RUNNING, ended_at=None)


def _read_escalations(
    connection: Connection, task_id: int, after: Cursor, told: list[Entry]
) -> Cursor:
    """Read escalations (S0.79), only where a planner was asked."""
    chosen = {"task_id": task_id, "job": after.job, "unsettled": list(after.unsettled)}
    rows = connection.execute(_ESCALATIONS, chosen).all()
    told += [_of_escalation(task_id, row) for row in rows if row.settled and row.asked]
    return replace(
        after,
        job=max((after.job, *(row.id for row in rows))),
        unsettled=tuple(row.id for row in rows if not row.settled),
    )


def _of_escalation(task_id: int, row: Any) -> Entry:
    ref = Ref(task_id, step=row.step, target=row.target)
    return Entry(row.created_at, ref, Escalated(row.step), f"job-{row.id}")


def _read_interventions(
    connection: Connection, task_id: int, after: Cursor, told: list[Entry]
) -> Cursor:
    views = interventions_since(connection, task_id, after.intervention, after.waiting)
    for view in views:
        if view.id > after.intervention:
            told.append(Entry(view.opened_at, view.ref, Opened(view), f"intervention-{view.id}"))
        if view.closed_at is not None:
            name = f"intervention-{view.id}-closed"
            told.append(Entry(view.closed_at, view.ref, Closed(view), name))
    return replace(
        after,
        intervention=max((after.intervention, *(view.id for view in views))),
        waiting=tuple(view.id for view in views if view.closed_at is None),
    )
