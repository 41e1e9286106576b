"""What a worker answers when it is sent to end what a cancelled step left running."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.coordinator import Coordinator
from shared.domain.attempt import Attempt
from shared.domain.author import Author, PlanningRole
from shared.domain.config import Policy
from shared.domain.errors import Transient
from shared.domain.facts import CancelRequested, CleanupFinished, JobFailed
from shared.domain.ids import attempt_key
from shared.domain.jobs import Job, JobKind
from shared.domain.outcome import Outcome
from shared.domain.plan import Plan, Step, Subtask
from shared.store.database import Database
from tests.contract.store_under_test import SqlUnderTest
from workers.process.leases import Hold
from workers.roles.executor import Executor, PassDone

AUTHOR = Author(PlanningRole.SUBTASK_PLANNER, "runbook")
PLAN = Plan((Step(1, "one", "One", "", AUTHOR, subtasks=(Subtask(1, "a", "a", "true"),)),))
LOST = JobFailed(JobKind.EXECUTE, 1, 0, 1, family="transient", stage="connect", reason="cut")
NOTHING: Any = None


@pytest.fixture
def store(database_url: str) -> Iterator[SqlUnderTest]:
    database = Database(database_url)
    yield SqlUnderTest(database)
    database.close()


class FakePasses(Executor):
    """Its passes end the attempts with these keys; `ages` are the ages that they were told."""

    def __init__(self, database: Database, *ended: str) -> None:
        super().__init__(database, NOTHING, NOTHING, NOTHING, NOTHING, signatures=NOTHING)
        self.ended = frozenset(ended)
        self.ages: list[float] = []

    def _carry_out(self, hold: Hold, *, since: float) -> PassDone:
        assert hold.withdrawn.is_set(), "it would start commands"
        self.ages.append(since)
        return PassDone(1, NOTHING, NOTHING, NOTHING, self.ended)


@pytest.fixture
def running(store: SqlUnderTest) -> Attempt:
    """A command that runs on, 100 s after its pass began, although its step is cancelled."""
    coordinator = Coordinator(store.ledger)
    task_id = store.submit(["web1"], Policy(), PLAN)
    coordinator.drain()
    (job_id,) = store.waiting()
    job = store.claim(job_id)
    assert job is not None
    assert job.run_id is not None
    now = datetime.now(UTC)
    key = attempt_key(job.run_id, 1, 0, 1, 1, 0)
    attempt = Attempt(key, job.run_id, 1, 0, 1, 1, 0, 1, "true", Outcome.CANCELLED, now, now)
    store.record(job, attempt, ended=False)
    assert store.finish(job, LOST)
    coordinator.drain()
    store.send([(task_id, None, CancelRequested())])
    coordinator.drain()
    with store.database.begin() as connection:
        connection.exec_driver_sql("UPDATE jobs SET created_at = created_at - interval '100 s'")
    assert store.sweep() == 1
    coordinator.drain()
    return attempt


def taken(store: SqlUnderTest) -> Job:
    """The clean-up in a worker's hands."""
    (job_id,) = store.waiting()
    job = store.claim(job_id)
    assert job is not None
    assert job.kind is JobKind.CLEAN_UP
    return job


def test_it_has_ended_what_ran(store: SqlUnderTest, running: Attempt) -> None:
    job = taken(store)
    executor = FakePasses(store.database, running.key)
    assert executor.clean_up(Hold(job, 0.0)) == CleanupFinished(1, 0, 1)
    assert job.age < 100 <= executor.ages[0]  # a host that has restarted since then has ended it


@pytest.mark.usefixtures("running")
def test_it_does_not_say_so_where_the_host_is_silent(store: SqlUnderTest) -> None:
    executor = FakePasses(store.database, "another")
    with pytest.raises(Transient, match="does not say how the command ended"):
        executor.clean_up(Hold(taken(store), 0.0))


def test_it_leaves_the_host_alone_where_nothing_runs_any_more(
    store: SqlUnderTest, running: Attempt
) -> None:
    job = taken(store)
    assert store.record(job, running)
    executor = FakePasses(store.database)
    assert executor.clean_up(Hold(job, 0.0)) == CleanupFinished(1, 0, 1)
    assert executor.ages == []
