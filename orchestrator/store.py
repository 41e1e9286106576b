"""The ledger in Postgres: states, events and outbox, loaded and saved in batches."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, text, update
from sqlalchemy.dialects.postgresql import insert as upsert

from orchestrator import learning, outbox
from orchestrator.core.decisions import Decision, OpenIntervention
from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.core.machine import RULES_VERSION
from orchestrator.core.state import RunState, StepState, TaskState
from orchestrator.rows import (
    ADD_REPLY,
    PARKED,
    run_state,
    run_values,
    step_values,
    task_state,
    task_values,
)
from shared.domain import facts as f
from shared.domain.config import Policy
from shared.domain.errors import Defect, ReplanError
from shared.domain.next_step import NextStep
from shared.fact_wire import decode_fact, encode_fact
from shared.store import fixes
from shared.store.database import Database
from shared.store.inbox import Report
from shared.store.recordset import as_rows, columns, recordset
from shared.store.tables import (
    EventRow,
    RevisionRow,
    RunRow,
    RunStepRow,
    TaskRow,
)
from shared.wire import from_json, to_json

_LOCK_TASKS = text("""
    SELECT id, phase, policy, plan, postponed, unrefined, asking, looks, reason FROM tasks
    WHERE id IN (SELECT task_id FROM inbox GROUP BY task_id ORDER BY min(id) LIMIT :limit)
    ORDER BY id FOR UPDATE SKIP LOCKED
""")
_REPORTS = text("SELECT * FROM inbox WHERE task_id = ANY(:ids) ORDER BY id")
_RUNS = text("""
    SELECT run_steps.*, runs.id, runs.task_id, runs.phase AS run_phase, runs.reason AS run_reason,
        runs.head, runs.accepted, runs.checkpoint, runs.held_open, runs.paused,
        runs.task_id IN (
            SELECT task_id FROM interventions WHERE task_id = ANY(:ids) AND closed_at IS NULL
        ) AS intervened
    FROM runs LEFT JOIN run_steps ON run_steps.run_id = runs.id
        AND (runs.id = ANY(:reported) OR runs.task_id = ANY(:whole))
    WHERE runs.task_id = ANY(:ids) ORDER BY runs.id, run_steps.step
""")
_STEPS = text("SELECT * FROM run_steps WHERE run_id = ANY(:ids) ORDER BY run_id, step")

_EVENT_COLUMNS = columns(EventRow, without=("id",))
_STEP_COLUMNS = columns(RunStepRow, without=("changed_at",))
_STEP_UPDATED = [f"{c} = excluded.{c}" for c in _STEP_COLUMNS if c not in {"run_id", "step"}]
_TASKS_SET = recordset(
    "tasks",
    TaskRow,
    "id",
    "phase",
    "plan",
    "policy",
    "postponed",
    "unrefined",
    "asking",
    "looks",
    "reason",
    planned="boolean",
    ended="boolean",
)
_RUNS_SET = recordset(
    "runs",
    RunRow,
    "id",
    "phase",
    "reason",
    "head",
    "accepted",
    "checkpoint",
    "held_open",
    "paused",
    ended="boolean",
)
_SAVE = text(f"""
    WITH saved_tasks AS (
        UPDATE tasks SET
            phase = r.phase, postponed = r.postponed, reason = r.reason,
            unrefined = r.unrefined, asking = r.asking, looks = r.looks,
            policy = coalesce(r.policy, tasks.policy),
            plan = CASE WHEN r.planned THEN r.plan ELSE tasks.plan END,
            ended_at = CASE WHEN r.ended THEN clock_timestamp() END
        FROM {_TASKS_SET} WHERE tasks.id = r.id
    ), saved_runs AS (
        UPDATE runs SET
            phase = r.phase, reason = r.reason, head = r.head, accepted = r.accepted,
            checkpoint = r.checkpoint, held_open = r.held_open, paused = r.paused,
            started_at = coalesce(runs.started_at, clock_timestamp()),
            ended_at = CASE WHEN r.ended AND runs.phase = 'cancelled' THEN runs.ended_at
                            WHEN r.ended THEN clock_timestamp() END
        FROM {_RUNS_SET}
        WHERE runs.id = r.id
    ), saved_steps AS (
        INSERT INTO run_steps ({", ".join(_STEP_COLUMNS)})
        SELECT {", ".join(_STEP_COLUMNS)} FROM {recordset("steps", RunStepRow, *_STEP_COLUMNS)}
        ON CONFLICT (run_id, step) DO UPDATE SET
            {", ".join(_STEP_UPDATED)},
            changed_at = clock_timestamp()
    ), saved_events AS (
        INSERT INTO events ({", ".join(_EVENT_COLUMNS)})
        SELECT {", ".join(_EVENT_COLUMNS)} FROM {recordset("events", EventRow, *_EVENT_COLUMNS)}
    )
    DELETE FROM inbox WHERE id = ANY(:handled)
""")  # noqa: S608 - nothing but constants


class SqlLedger:
    """The ledger; one transaction a unit."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @contextmanager
    def open(self, limit: int) -> Iterator["SqlUnit"]:
        """A unit over the reports of at most `limit` tasks, locked until the commit."""
        with self._database.begin() as connection:
            unit = SqlUnit(connection, limit)
            yield unit
            unit.flush()


class SqlUnit:
    """The states that are read and changed between reading the inbox and the commit."""

    def __init__(self, connection: Connection, limit: int) -> None:
        self._connection = connection
        self._task_rows: dict[int, Any] = {}
        self._run_rows: dict[int, Any] = {}
        self._tasks: dict[int, TaskState] = {}
        self._runs: dict[int, RunState] = {}
        self._planned: set[int] = set()
        self._limited: set[int] = set()
        self._intervened: set[int] = set()
        self._changed_tasks: set[int] = set()
        self._changed_runs: set[int] = set()
        self._old_steps: dict[int, dict[int, StepState]] = {}
        self._events: list[dict[str, Any]] = []
        self._revisions: list[dict[str, Any]] = []
        self._uses: list[dict[str, Any]] = []
        self._prompts: list[tuple[int, str]] = []
        self._replies: list[dict[str, Any]] = []
        self._orders: list[outbox.Order] = []
        self._inbox_ids: list[int] = []
        self._reported_at: list[datetime] = []
        self._at = datetime.now(UTC)
        self.reports: Sequence[Report] = self._read(limit)

    def turn_to(self, position: int) -> None:
        """Give the events the time of the report that they follow from."""
        self._at = self._reported_at[position]

    def task(self, task_id: int) -> TaskState:
        """The task, with the changes of this unit."""
        if task_id not in self._tasks:
            phases = {
                run.id: run.run_phase for run in self._run_rows.values() if run.task_id == task_id
            }
            self._tasks[task_id] = task_state(self._task_rows[task_id], phases)
        return self._tasks[task_id]

    def run(self, run_id: int) -> RunState:
        """The run, with the changes of this unit. Its steps are read when they are first needed."""
        if run_id not in self._runs:
            self._read_runs([run_id])
        if run_id not in self._runs:
            raise Defect(f"the task of this report has no run {run_id}", stage="inbox")
        return self._runs[run_id]

    def runs_of(self, task_id: int) -> Sequence[int]:
        """Read all runs of a task at once, because all of them are needed next."""
        run_ids = list(self.task(task_id).runs)
        self._read_runs([run_id for run_id in run_ids if run_id not in self._runs])
        return run_ids

    def save_task(
        self, task_id: int, state: TaskState, fact: f.Fact, decisions: Sequence[Decision]
    ) -> None:
        """Remember state, event and decisions until `flush`."""
        if state.plan is not self.task(task_id).plan:
            self._planned.add(task_id)
        self._tasks[task_id] = state
        self._changed_tasks.add(task_id)
        if isinstance(fact, f.PromptRefined):
            self._prompts.append((task_id, fact.prompt))
        if isinstance(fact, f.PolicyChanged):
            self._limited.add(task_id)
        if isinstance(fact, f.QuestionAnswered) and fact.step is None:
            said = {"question": fact.question, "answer": fact.answer}
            self._replies.append({"task_id": task_id, "reply": as_rows([said])})
        self._record(task_id, None, fact, decisions)

    def save_run(
        self,
        task_id: int,
        run_id: int,
        state: RunState,
        fact: f.Fact,
        decisions: Sequence[Decision],
    ) -> None:
        """Remember state, event and decisions until `flush`."""
        self._runs[run_id] = state
        self._changed_runs.add(run_id)
        if isinstance(fact, f.StepRevised):
            self._revisions.append(
                {
                    "run_id": run_id,
                    "step": fact.step,
                    "revision": fact.revision,
                    "author_role": fact.author.role.value,
                    "author_backend": fact.author.backend,
                    "subtasks": to_json(fact)["subtasks"],
                    "rollback": list(fact.rollback),
                    "dropped_checks": [to_json(dropped) for dropped in fact.dropped_checks],
                    "reason": fact.reason,
                }
            )
            self._uses += learning.uses(task_id, run_id, fact)
        self._record(task_id, run_id, fact, decisions)

    def park(self, task_id: int, run_id: int | None, fact: f.Fact, error: ReplanError) -> None:
        """Keep the fact beside the error, and tell an operator."""
        self._park(task_id, run_id, *encode_fact(fact), error)

    def _park(
        self, task_id: int, run_id: int | None, kind: str, body: Any, error: ReplanError
    ) -> None:
        self._events.append(
            {
                "task_id": task_id,
                "run_id": run_id,
                "kind": PARKED,
                "body": {"fact": kind, "body": body, "error": str(error)},
                "rules": RULES_VERSION,
                "at": self._at.isoformat(),
            }
        )
        known = run_id if run_id in self._runs else None
        told = OpenIntervention(
            InterventionKind.OPERATOR,
            None,
            error.reason,
            error.stage,
            NextStep.of("task report", f"T{task_id}"),
        )
        self._orders.append((task_id, known, told))

    def flush(self) -> None:
        """Write everything; the caller commits."""
        if self._inbox_ids:
            self._connection.execute(_SAVE, self._values())
        if self._revisions:
            self._connection.execute(upsert(RevisionRow).on_conflict_do_nothing(), self._revisions)
        fixes.note_uses(self._connection, self._uses)
        for task_id, prompt in self._prompts:
            self._connection.execute(
                update(TaskRow).where(TaskRow.id == task_id).values(improved_prompt=prompt)
            )
        if self._replies:
            self._connection.execute(ADD_REPLY, self._replies)
        outbox.carry_out(self._connection, self._orders, self._intervened)

    def _read(self, limit: int) -> list[Report]:
        tasks = self._connection.execute(_LOCK_TASKS, {"limit": limit}).all()
        if not tasks:
            return []
        self._task_rows = {row.id: row for row in tasks}
        task_ids = list(self._task_rows)
        found = self._connection.execute(_REPORTS, {"ids": task_ids}).all()
        self._inbox_ids = [row.id for row in found]
        reported = {row.run_id for row in found if row.run_id is not None}
        whole = {row.task_id for row in found if row.run_id is None}
        self._read_tasks_runs(task_ids, reported, whole)
        readable = [(row, self._report(row)) for row in found]
        self._reported_at = [row.created_at for row, report in readable if report is not None]
        return [report for _, report in readable if report is not None]

    def _report(self, row: Any) -> Report | None:
        """Decode a report; park one that cannot be decoded, so that it stops no other."""
        try:
            return row.task_id, row.run_id, decode_fact(row.kind, row.body)
        except Defect as error:
            self._park(row.task_id, row.run_id, row.kind, row.body, error)
            return None

    def _read_tasks_runs(
        self, task_ids: Sequence[int], reported: AbstractSet[int], whole: AbstractSet[int]
    ) -> None:
        """Read every run of the tasks; of the runs `reported` and the tasks `whole`, the steps."""
        chosen = {"ids": task_ids, "reported": sorted(reported), "whole": sorted(whole)}
        steps: dict[int, list[Any]] = {}
        for row in self._connection.execute(_RUNS, chosen):
            self._run_rows[row.id] = row
            if row.intervened:
                self._intervened.add(row.task_id)
            if row.step is not None:
                steps.setdefault(row.id, []).append(row)
            elif row.id in reported or row.task_id in whole:
                steps[row.id] = []
        self._enter_runs(steps)

    def _read_runs(self, run_ids: Sequence[int]) -> None:
        """Runs of tasks that are not locked are not read: `run` refuses a report that names one."""
        steps: dict[int, list[Any]] = {run_id: [] for run_id in run_ids if run_id in self._run_rows}
        if not steps:
            return
        for row in self._connection.execute(_STEPS, {"ids": list(steps)}):
            steps[row.run_id].append(row)
        self._enter_runs(steps)

    def _enter_runs(self, steps: Mapping[int, Sequence[Any]]) -> None:
        for run_id, rows in steps.items():
            row = self._run_rows[run_id]
            policy = from_json(Policy, self._task_rows[row.task_id].policy)
            self._runs[run_id] = run_state(row, policy, rows)
            self._old_steps[run_id] = dict(self._runs[run_id].steps)

    def _record(
        self, task_id: int, run_id: int | None, fact: f.Fact, decisions: Sequence[Decision]
    ) -> None:
        kind, body = encode_fact(fact)
        if isinstance(fact, f.RunStarted):
            body = {}  # policy and plan are in the row of the task, once for all its runs
        self._events.append(
            {
                "task_id": task_id,
                "run_id": run_id,
                "kind": kind,
                "body": body,
                "rules": RULES_VERSION,
                "at": self._at.isoformat(),
            }
        )
        self._orders.extend((task_id, run_id, decision) for decision in decisions)

    def _values(self) -> dict[str, Any]:
        runs = [(run_id, self._runs[run_id]) for run_id in sorted(self._changed_runs)]
        steps = [
            step_values(run_id, step)
            for run_id, state in runs
            for ordinal, step in state.steps.items()
            if self._old_steps.get(run_id, {}).get(ordinal) != step
        ]
        return {
            "tasks": as_rows(map(self._task, sorted(self._changed_tasks))),
            "runs": as_rows(run_values(run_id, state) for run_id, state in runs),
            "steps": as_rows(steps),
            "events": as_rows(self._events),
            "handled": self._inbox_ids,
        }

    def _task(self, task_id: int) -> dict[str, Any]:
        return task_values(
            task_id,
            self._tasks[task_id],
            planned=task_id in self._planned,
            limited=task_id in self._limited,
        )
