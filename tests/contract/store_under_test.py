"""One face for the store in memory and the store in Postgres, so that one suite tests both."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from sqlalchemy import func, insert, select, text, update

from orchestrator import waiting_jobs
from orchestrator.coordinator import Coordinator
from orchestrator.core.state import RunState, TaskState
from orchestrator.ports import Ledger
from orchestrator.rows import run_state, task_state
from orchestrator.store import SqlLedger
from orchestrator.sweeper import Sweeper
from shared.domain.attempt import Answer, Attempt, explain
from shared.domain.config import Policy
from shared.domain.delivery import DeliveryStatus, Rejection, Trust
from shared.domain.facts import Fact, TaskSubmitted
from shared.domain.jobs import Job
from shared.domain.plan import Plan
from shared.store import attempts, deliveries, inbox, jobs
from shared.store.attempts import AttemptWrite
from shared.store.database import Database
from shared.store.deliveries import Delivery
from shared.store.delivery_tables import DeliveryRow
from shared.store.inbox import Report
from shared.store.tables import (
    ApprovalRow,
    AttemptRow,
    EventRow,
    InboxRow,
    InterventionRow,
    JobRow,
    RunRow,
    RunStepRow,
    TaskRow,
)
from shared.wire import to_json
from tests.fakes.memory_deliveries import MemoryDelivery
from tests.fakes.memory_store import MemoryStore
from tests.journeys.plans import plan as plan_of
from tests.journeys.plans import step

LEASE = 30.0


class StoreUnderTest(Protocol):
    """What the contract suite asks of a store."""

    ledger: Ledger

    def submit(self, targets: Sequence[str], policy: Policy, plan: Plan | None) -> int: ...
    def send(self, reports: Sequence[Report]) -> None: ...
    def waiting(self) -> list[int]: ...
    def claim(self, job_id: int) -> Job | None: ...
    def renew(self, job: Job) -> bool: ...
    def unwanted(self, job: Job) -> str | None: ...
    def record(self, job: Job, attempt: Attempt, *, ended: bool = True) -> bool: ...
    def sweep(self) -> int: ...
    def tried(self) -> list[tuple[str, str]]: ...
    def ended(self, job: Job) -> tuple[Attempt, ...]: ...
    def finish(self, job: Job, fact: Fact) -> bool: ...
    def pass_time(self, seconds: float) -> None: ...
    def task(self, task_id: int) -> TaskState: ...
    def runs(self, task_id: int) -> dict[int, RunState]: ...
    def events(self, task_id: int) -> list[str]: ...
    def interventions(self, task_id: int) -> list[str]: ...
    def approvals(self, task_id: int) -> list[str]: ...
    def publish(self, job: Job, sha256: str) -> bool: ...
    def deliveries(self, run_id: int) -> list[MemoryDelivery]: ...


class MemoryUnderTest:
    """The store in memory."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.ledger: Ledger = self.store
        self.submit = self.store.submit
        self.send = self.store.send
        self.waiting = self.store.waiting
        self.finish = self.store.finish
        self.sweep = self.store.tell_left_running

    def claim(self, job_id: int) -> Job | None:
        return self.store.claim(job_id, LEASE)

    def renew(self, job: Job) -> bool:
        return job.id in self.store.renew(job, LEASE)

    def unwanted(self, job: Job) -> str | None:
        return self.store.renew(job, LEASE)[job.id]

    def record(self, job: Job, attempt: Attempt, *, ended: bool = True) -> bool:
        return self.store.record(job, attempt, ended=ended)

    def tried(self) -> list[tuple[str, str]]:
        return [
            ("running", "") if row.running else (row.attempt.outcome.value, row.attempt.explanation)
            for row in self.store.attempts.values()
        ]

    def ended(self, job: Job) -> tuple[Attempt, ...]:
        return tuple(
            row.attempt
            for row in self.store.attempts.values()
            if not row.running and row.attempt.step == job.step
        )

    def pass_time(self, seconds: float) -> None:
        self.store.now += seconds

    def approvals(self, task_id: int) -> list[str]:
        return [digest for of, digest in self.store.approvals if of == task_id]

    def publish(self, job: Job, sha256: str) -> bool:
        assert job.run_id is not None
        assert job.step is not None
        ours = job.id in self.store.renew(job, LEASE)
        if ours:
            self.store.deliveries.append(MemoryDelivery(job.run_id, job.step, sha256))
        return ours

    def deliveries(self, run_id: int) -> list[MemoryDelivery]:
        return [row for row in self.store.deliveries if row.run == run_id]

    def task(self, task_id: int) -> TaskState:
        with self.store.open(0) as unit:
            return unit.task(task_id)

    def runs(self, task_id: int) -> dict[int, RunState]:
        with self.store.open(0) as unit:
            return {run_id: unit.run(run_id) for run_id in unit.runs_of(task_id)}

    def events(self, task_id: int) -> list[str]:
        return [kind for task, _, kind in self.store.events if task == task_id]

    def interventions(self, task_id: int) -> list[str]:
        return [
            opened["kind"]
            for opened in self.store.interventions
            if opened["task_id"] == task_id and opened["open"]
        ]


class SqlUnderTest:
    """The store in Postgres; time passes by moving what is due and leased into the past."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.ledger: Ledger = SqlLedger(database)

    def submit(self, targets: Sequence[str], policy: Policy, plan: Plan | None) -> int:
        with self.database.begin() as connection:
            task_id = connection.execute(
                insert(TaskRow)
                .values(prompt="p", phase="submitted", policy=to_json(policy))
                .returning(TaskRow.id)
            ).scalar_one()
            run_ids = tuple(
                connection.execute(
                    insert(RunRow)
                    .values(task_id=task_id, target=target, phase="not_started")
                    .returning(RunRow.id)
                ).scalar_one()
                for target in targets
            )
            inbox.send(connection, [(task_id, None, TaskSubmitted(policy, run_ids, plan))])
        return task_id

    def send(self, reports: Sequence[Report]) -> None:
        with self.database.begin() as connection:
            inbox.send(connection, reports)

    def waiting(self) -> list[int]:
        with self.database.begin() as connection:
            return [job.id for job in waiting_jobs.waiting(connection, 0.0)]

    def claim(self, job_id: int) -> Job | None:
        with self.database.begin() as connection:
            return next(iter(jobs.claim(connection, [job_id], "worker", LEASE)), None)

    def renew(self, job: Job) -> bool:
        with self.database.begin() as connection:
            return job.id in jobs.renew(connection, [job.claim], LEASE)

    def unwanted(self, job: Job) -> str | None:
        with self.database.begin() as connection:
            return jobs.renew(connection, [job.claim], LEASE)[job.id]

    def record(self, job: Job, attempt: Attempt, *, ended: bool = True) -> bool:
        entry = AttemptWrite(job.claim, attempt, ended=ended, worker="worker")
        with self.database.begin() as connection:
            return attempt.key in attempts.record(connection, [entry]).ours

    def sweep(self) -> int:
        before = self._left_running_told()
        Sweeper(self.database, max_claims=1000).sweep()
        return self._left_running_told() - before

    def _left_running_told(self) -> int:
        told = (
            select(func.count()).select_from(InboxRow).where(InboxRow.kind == "CommandLeftRunning")
        )
        with self.database.begin() as connection:
            return connection.execute(told).scalar_one()

    def tried(self) -> list[tuple[str, str]]:
        with self.database.begin() as connection:
            found = connection.execute(
                select(AttemptRow.outcome, AttemptRow.reason, AttemptRow.told_by_person).order_by(
                    AttemptRow.id
                )
            )
            return [
                (row.outcome, explain(row.reason, None, told and Answer(told)))
                for row in found
                for told in [row.told_by_person]
            ]

    def ended(self, job: Job) -> tuple[Attempt, ...]:
        assert job.run_id is not None
        assert job.step is not None
        with self.database.begin() as connection:
            return attempts.of_step(connection, job.run_id, job.step)

    def finish(self, job: Job, fact: Fact) -> bool:
        with self.database.begin() as connection:
            ours = jobs.finish(connection, [job.claim])
            if ours:
                inbox.send(connection, [(job.task_id, job.run_id, fact)])
        return bool(ours)

    def pass_time(self, seconds: float) -> None:
        span = func.make_interval(text(f"secs => {float(seconds)}"))
        with self.database.begin() as connection:
            connection.execute(
                update(JobRow).values(
                    due_at=JobRow.due_at - span, lease_until=JobRow.lease_until - span
                )
            )

    def task(self, task_id: int) -> TaskState:
        with self.database.begin() as connection:
            row = connection.execute(select(TaskRow.__table__).where(TaskRow.id == task_id)).one()
            runs = connection.execute(
                select(RunRow.id, RunRow.phase).where(RunRow.task_id == task_id)
            )
            return task_state(row, {found.id: found.phase for found in runs})

    def runs(self, task_id: int) -> dict[int, RunState]:
        policy = self.task(task_id).policy
        with self.database.begin() as connection:
            rows = connection.execute(
                select(
                    RunRow.__table__,
                    RunRow.phase.label("run_phase"),
                    RunRow.reason.label("run_reason"),
                )
                .where(RunRow.task_id == task_id)
                .order_by(RunRow.id)
            ).all()
            return {row.id: run_state(row, policy, self._steps(connection, row.id)) for row in rows}

    def events(self, task_id: int) -> list[str]:
        with self.database.begin() as connection:
            return list(
                connection.execute(
                    select(EventRow.kind).where(EventRow.task_id == task_id).order_by(EventRow.id)
                ).scalars()
            )

    def interventions(self, task_id: int) -> list[str]:
        with self.database.begin() as connection:
            return list(
                connection.execute(
                    select(InterventionRow.kind)
                    .where(InterventionRow.task_id == task_id, InterventionRow.closed_at.is_(None))
                    .order_by(InterventionRow.id)
                ).scalars()
            )

    def approvals(self, task_id: int) -> list[str]:
        with self.database.begin() as connection:
            found = connection.execute(
                select(ApprovalRow.digest)
                .where(ApprovalRow.task_id == task_id)
                .order_by(ApprovalRow.id)
            )
            return list(found.scalars())

    def publish(self, job: Job, sha256: str) -> bool:
        with self.database.begin() as connection:
            if job.id not in jobs.renew(connection, [job.claim], LEASE):
                return False
            deliveries.add(connection, _delivery(job, sha256))
        return True

    def deliveries(self, run_id: int) -> list[MemoryDelivery]:
        query = (
            select(DeliveryRow.__table__)
            .where(DeliveryRow.run_id == run_id)
            .order_by(DeliveryRow.id)
        )
        with self.database.begin() as connection:
            return [
                MemoryDelivery(
                    row.run_id,
                    row.step,
                    row.sha256,
                    DeliveryStatus(row.status),
                    None if row.rejection is None else Rejection(row.rejection),
                    row.reason,
                    row.commit,
                    row.settled_by,
                )
                for row in connection.execute(query)
            ]

    def _steps(self, connection: Any, run_id: int) -> Sequence[Any]:
        found = connection.execute(
            select(RunStepRow.__table__)
            .where(RunStepRow.run_id == run_id)
            .order_by(RunStepRow.step)
        )
        return list(found)


def _delivery(job: Job, sha256: str) -> Delivery:
    assert job.run_id is not None
    assert job.step is not None
    return Delivery(
        job.run_id,
        job.step,
        job.revision,
        job.pass_no,
        attempt_key=None,
        runner=None,
        issue_id="L-000001",
        sha256=sha256,
        uri=f"file:///{sha256}",
        size=1,
        base="base",
        tree="tree",
        deliverables={},
        stats={},
        findings=(),
        trust=Trust.CHECKS,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def claim_pass(database: Database, command: str) -> Job:
    """A pass in hand, over a step with that one command."""
    store = SqlUnderTest(database)
    store.submit(("web1",), Policy(), plan_of(step([command])))
    Coordinator(store.ledger).drain()
    claimed = store.claim(store.waiting()[0])
    assert claimed is not None
    return claimed
