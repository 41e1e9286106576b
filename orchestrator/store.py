"""The ledger in Postgres: states, events and outbox, loaded and saved in batches."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert

from orchestrator.callbacks import job_of
from orchestrator.core.decisions import (
    CancelJobs,
    CloseInterventions,
    Decision,
    Enqueue,
    InterventionKind,
    OpenIntervention,
    SettleAttempt,
)
from orchestrator.core.machine import RULES_VERSION
from orchestrator.core.state import RunState, StepState, TaskState
from orchestrator.rows import run_state, step_values, task_state
from shared.domain import facts as f
from shared.domain.errors import Defect, ReplanError
from shared.domain.task import ENDED_RUN, ENDED_TASK
from shared.store import attempts, jobs
from shared.store.database import Database
from shared.store.inbox import Report
from shared.store.tables import (
    EventRow,
    InboxRow,
    InterventionRow,
    RevisionRow,
    RunRow,
    RunStepRow,
    TaskRow,
)
from shared.wire import decode_fact, encode_fact, to_json

_LOCK_TASKS = text("""
    SELECT id FROM tasks
    WHERE id IN (SELECT task_id FROM inbox GROUP BY task_id ORDER BY min(id) LIMIT :limit)
    ORDER BY id FOR UPDATE SKIP LOCKED
""")


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
    """States read and changed between one look into the inbox and its commit."""

    def __init__(self, connection: Connection, limit: int) -> None:
        self._connection = connection
        self._tasks: dict[int, TaskState] = {}
        self._runs: dict[int, RunState] = {}
        self._task_of: dict[int, int] = {}
        self._changed_tasks: set[int] = set()
        self._changed_runs: set[int] = set()
        self._old_steps: dict[int, dict[int, StepState]] = {}
        self._events: list[dict[str, Any]] = []
        self._revisions: list[dict[str, Any]] = []
        self._prompts: list[tuple[int, str]] = []
        self._orders: list[tuple[int, int | None, Decision]] = []
        self._inbox_ids: list[int] = []
        self._reported_at: list[datetime] = []
        self._at = datetime.now(UTC)
        self.reports: Sequence[Report] = self._read(limit)

    def turn_to(self, position: int) -> None:
        """Events bear the time at which the report that they follow from was made."""
        self._at = self._reported_at[position]

    def task(self, task_id: int) -> TaskState:
        """The task as this unit sees it."""
        return self._tasks[task_id]

    def run(self, run_id: int) -> RunState:
        """The run as this unit sees it; its steps are read when first asked for."""
        if run_id not in self._runs:
            self._read_runs([run_id])
        if run_id not in self._runs:
            raise Defect(f"the task of this report has no run {run_id}", stage="inbox")
        return self._runs[run_id]

    def runs_of(self, task_id: int) -> Sequence[int]:
        """The runs of a task; all of them are about to be asked for."""
        run_ids = list(self._tasks[task_id].runs)
        self._read_runs([run_id for run_id in run_ids if run_id not in self._runs])
        return run_ids

    def save_task(
        self, task_id: int, state: TaskState, fact: f.Fact, decisions: Sequence[Decision]
    ) -> None:
        """Remember state, event and decisions until `flush`."""
        self._tasks[task_id] = state
        self._changed_tasks.add(task_id)
        if isinstance(fact, f.PromptRefined):
            self._prompts.append((task_id, fact.prompt))
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
                    "reason": fact.reason,
                }
            )
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
                "kind": "Defect",
                "body": {"fact": kind, "body": body, "error": str(error)},
                "rules": RULES_VERSION,
                "at": self._at,
            }
        )
        known = run_id if run_id in self._runs else None
        told = OpenIntervention(
            InterventionKind.OPERATOR,
            None,
            error.reason,
            error.stage,
            f"replan task report T{task_id}",
        )
        self._orders.append((task_id, known, told))

    def flush(self) -> None:
        """Write everything; the caller commits."""
        self._write_tasks()
        self._write_runs()
        if self._revisions:
            self._connection.execute(upsert(RevisionRow).on_conflict_do_nothing(), self._revisions)
        if self._events:
            self._connection.execute(insert(EventRow), self._events)
        for task_id, prompt in self._prompts:
            self._connection.execute(
                update(TaskRow).where(TaskRow.id == task_id).values(improved_prompt=prompt)
            )
        self._carry_out()
        if self._inbox_ids:
            self._connection.execute(delete(InboxRow).where(InboxRow.id.in_(self._inbox_ids)))

    def _read(self, limit: int) -> list[Report]:
        task_ids = list(self._connection.execute(_LOCK_TASKS, {"limit": limit}).scalars())
        if not task_ids:
            return []
        found = self._connection.execute(
            select(InboxRow.__table__).where(InboxRow.task_id.in_(task_ids)).order_by(InboxRow.id)
        ).all()
        self._inbox_ids = [row.id for row in found]
        self._read_tasks(task_ids)
        self._read_runs(sorted({row.run_id for row in found if row.run_id is not None}))
        readable = [(row, self._report(row)) for row in found]
        self._reported_at = [row.created_at for row, report in readable if report is not None]
        return [report for _, report in readable if report is not None]

    def _report(self, row: Any) -> Report | None:
        """The report again; one that cannot be read is parked, so that it stops no other."""
        try:
            return row.task_id, row.run_id, decode_fact(row.kind, row.body)
        except Defect as error:
            self._park(row.task_id, row.run_id, row.kind, row.body, error)
            return None

    def _read_tasks(self, task_ids: Sequence[int]) -> None:
        runs: dict[int, dict[int, str]] = {task_id: {} for task_id in task_ids}
        for row in self._connection.execute(
            select(RunRow.id, RunRow.task_id, RunRow.phase)
            .where(RunRow.task_id.in_(task_ids))
            .order_by(RunRow.id)
        ):
            runs[row.task_id][row.id] = row.phase
            self._task_of[row.id] = row.task_id
        for row in self._connection.execute(
            select(
                TaskRow.id,
                TaskRow.phase,
                TaskRow.policy,
                TaskRow.plan,
                TaskRow.putting_off,
                TaskRow.reason,
            ).where(TaskRow.id.in_(task_ids))
        ):
            self._tasks[row.id] = task_state(row, runs[row.id])

    def _read_runs(self, run_ids: Sequence[int]) -> None:
        if not run_ids:
            return
        steps: dict[int, list[Any]] = {run_id: [] for run_id in run_ids}
        for row in self._connection.execute(
            select(RunStepRow.__table__)
            .where(RunStepRow.run_id.in_(run_ids))
            .order_by(RunStepRow.run_id, RunStepRow.step)
        ):
            steps[row.run_id].append(row)
        for row in self._connection.execute(
            select(RunRow.id, RunRow.task_id, RunRow.phase, RunRow.reason).where(
                RunRow.id.in_(run_ids)
            )
        ):
            if row.task_id not in self._tasks:
                continue  # a report that names another task's run: `run` refuses it
            state = run_state(row, self._tasks[row.task_id].policy, steps[row.id])
            self._runs[row.id] = state
            self._old_steps[row.id] = dict(state.steps)

    def _record(
        self, task_id: int, run_id: int | None, fact: f.Fact, decisions: Sequence[Decision]
    ) -> None:
        kind, body = encode_fact(fact)
        if isinstance(fact, f.RunStarted):
            body = {}  # policy and plan stand in the task's row, once for all its runs
        self._events.append(
            {
                "task_id": task_id,
                "run_id": run_id,
                "kind": kind,
                "body": body,
                "rules": RULES_VERSION,
                "at": self._at,
            }
        )
        self._orders.extend((task_id, run_id, decision) for decision in decisions)

    def _write_tasks(self) -> None:
        for task_id in sorted(self._changed_tasks):
            state = self._tasks[task_id]
            self._connection.execute(
                update(TaskRow)
                .where(TaskRow.id == task_id)
                .values(
                    phase=state.phase.value,
                    plan=None if state.plan is None else to_json(state.plan),
                    putting_off=state.putting_off,
                    reason=state.reason,
                    ended_at=func.clock_timestamp() if state.phase in ENDED_TASK else None,
                )
            )

    def _write_runs(self) -> None:
        steps: list[dict[str, Any]] = []
        for run_id in sorted(self._changed_runs):
            state = self._runs[run_id]
            self._connection.execute(
                update(RunRow)
                .where(RunRow.id == run_id)
                .values(
                    phase=state.phase.value,
                    reason=state.reason,
                    started_at=func.coalesce(RunRow.started_at, func.clock_timestamp()),
                    ended_at=func.clock_timestamp() if state.phase in ENDED_RUN else None,
                )
            )
            old = self._old_steps.get(run_id, {})
            steps += [
                step_values(run_id, step)
                for ordinal, step in state.steps.items()
                if old.get(ordinal) != step
            ]
        if steps:
            statement = upsert(RunStepRow)
            fresh: dict[str, Any] = {
                name: statement.excluded[name]
                for name in steps[0]
                if name not in {"run_id", "step"}
            }
            fresh["changed_at"] = func.clock_timestamp()
            self._connection.execute(
                statement.on_conflict_do_update(index_elements=["run_id", "step"], set_=fresh),
                steps,
            )

    def _carry_out(self) -> None:
        """In the order they were decided: a step's old job goes before its next one comes."""
        enqueued: list[jobs.NewJob] = []
        for task_id, run_id, decision in self._orders:
            match decision:
                case Enqueue():
                    enqueued.append(job_of(task_id, run_id, decision))
                case CancelJobs(step):
                    jobs.enqueue(self._connection, enqueued)
                    enqueued = []
                    jobs.cancel(self._connection, task_id, run_id, step)
                case OpenIntervention():
                    self._open_intervention(task_id, run_id, decision)
                case CloseInterventions(step, sparing):
                    self._close_interventions(task_id, run_id, step, sparing)
                case SettleAttempt() if run_id is not None:
                    attempts.settle(
                        self._connection, run_id, decision.step, decision.pass_no, decision.answer
                    )
        jobs.enqueue(self._connection, enqueued)

    def _open_intervention(
        self, task_id: int, run_id: int | None, decision: OpenIntervention
    ) -> None:
        self._connection.execute(
            insert(InterventionRow).values(
                task_id=task_id,
                run_id=run_id,
                step=decision.step,
                kind=decision.kind.value,
                stage=decision.stage,
                reason=decision.reason,
                next_step_cmd=decision.next_step_cmd,
            )
        )

    def _close_interventions(
        self, task_id: int, run_id: int | None, step: int | None, sparing: Sequence[int]
    ) -> None:
        open_ones = (
            update(InterventionRow)
            .where(InterventionRow.task_id == task_id, InterventionRow.closed_at.is_(None))
            .values(closed_at=func.clock_timestamp())
        )
        if run_id is not None:
            open_ones = open_ones.where(InterventionRow.run_id == run_id)
        if step is not None:
            open_ones = open_ones.where(InterventionRow.step == step)
        if sparing:
            spared = InterventionRow.step.is_not(None) & InterventionRow.step.in_(sparing)
            open_ones = open_ones.where(~spared)
        self._connection.execute(open_ones)
