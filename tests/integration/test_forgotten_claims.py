"""A database that lost its last commits gives numbers out again; no old claim fits a new one."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from time import monotonic

import pytest

from orchestrator.acts.submission import Submission, submit
from orchestrator.coordinator import Coordinator
from orchestrator.store import SqlLedger
from shared.domain.attempt import Attempt
from shared.domain.budget import Ending
from shared.domain.config import Policy
from shared.domain.errors import Transient
from shared.domain.facts import PassFinished
from shared.domain.jobs import Job
from shared.domain.outcome import Outcome
from shared.store import attempts, jobs
from shared.store.attempts import AttemptWrite, OutputWrite
from shared.store.database import Database
from tests.journeys.plans import plan, step
from tests.services.forgetting import forgetting
from tests.services.ring import eventually
from workers.process.journal import Journal
from workers.process.leases import LeaseKeeper

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
RUNNING = Attempt("R1-1-r0-1-p1-t0", 1, 1, 0, 1, 1, 0, 1, "true", Outcome.FAILED, AT, AT)


def claimed(url: str, command: str) -> Job:
    """The job of a new task with that command, claimed by a worker that has begun to run it."""
    database = Database(url)
    submit(database, Submission("p", ("localhost",), Policy(), plan(step([command]))))
    Coordinator(SqlLedger(database)).drain()
    with database.begin() as connection:
        (job,) = jobs.claim(connection, [1], "worker", 600.0)
        entry = AttemptWrite(job.claim, RUNNING, ended=False, worker="worker")
        assert attempts.record(connection, [entry]).ours
    database.close()
    return job


@pytest.fixture
def both(database_url: str) -> tuple[Job, Job]:
    """The job of a task that has vanished, and the one that has its numbers now."""
    with forgetting(database_url):
        vanished = claimed(database_url, "echo before")
    now = claimed(database_url, "echo now")
    assert (vanished.id, vanished.fence, vanished.run_id) == (now.id, now.fence, now.run_id)
    return vanished, now


def attempt(number: int) -> Attempt:
    """The attempt of a subtask that has ended well."""
    key = f"R1-1-r0-{number}-p1-t0"
    return replace(RUNNING, key=key, subtask=number, outcome=Outcome.OK)


def keys(database: Database) -> set[str]:
    """The attempts that have ended."""
    with database.begin() as connection:
        ended = attempts.of_step(connection, 1, 1)
    return {each.key for each in ended}


def renew(database: Database, job: Job) -> bool:
    with database.begin() as connection:
        return bool(jobs.renew(connection, [job.claim], 600.0))


def hold(database: Database, job: Job) -> bool:
    with database.begin() as connection:
        return bool(jobs.held_ids(connection, [job.claim]))


def release(database: Database, job: Job) -> bool:
    with database.begin() as connection:
        return bool(jobs.release(connection, [job.claim]))


def finish(database: Database, job: Job) -> bool:
    with database.begin() as connection:
        return bool(jobs.finish(connection, [job.claim]))


def record(database: Database, job: Job) -> bool:
    with database.begin() as connection:
        entry = AttemptWrite(job.claim, RUNNING, ended=True, worker="worker")
        return bool(attempts.record(connection, [entry]).ours)


def output(database: Database, job: Job) -> bool:
    with database.begin() as connection:
        piece = OutputWrite(job.claim, RUNNING.key, "stdout", b"live")
        attempts.append_output(connection, attempts.reserve_output(connection, 1), [piece])
        count = connection.exec_driver_sql("SELECT count(*) FROM live_output").scalar_one()
        return bool(count)


def withdrawn(database: Database, job: Job) -> bool:
    with database.begin() as connection:
        jobs.cancel(connection, job.task_id)
        return bool(jobs.withdrawn(connection, [job.claim]))


def name(database: Database, job: Job) -> bool:
    """Store a bundle, use an approval or call a model for its task or run."""
    with suppress(Transient), database.begin() as connection:
        jobs.require_held(connection, job.claim, stage="test")
        return True
    return False


@pytest.mark.parametrize("use", [name, renew, hold, release, finish, record, output, withdrawn])
def test_a_vanished_claim_does_nothing_to_the_job_with_its_numbers(
    database: Database, both: tuple[Job, Job], use: Callable[[Database, Job], bool]
) -> None:
    vanished, now = both
    assert not use(database, vanished)
    assert use(database, now)


def test_what_follows_forgotten_attempts_is_not_written_and_the_job_is_free(
    database_url: str,
) -> None:
    """The claim is older than the loss: the next driver finds all attempts on the host."""
    job = claimed(database_url, "true")
    database = Database(database_url)
    journal = Journal(database, "worker")
    with forgetting(database_url):
        journal.end_attempt(job, attempt(1))
        eventually(lambda: keys(database) == {attempt(1).key}, "the attempt in its row")
    journal.end_attempt(job, attempt(2))
    assert not journal.report(job, PassFinished(1, 0, 1, Ending.DONE, 0)).result()
    assert keys(database) == set()
    assert journal.is_refused(job)
    with database.begin() as connection:
        (again,) = jobs.claim(connection, [job.id], "another", 600.0)
    assert again.resumed
    journal.close()
    database.close()


def test_a_report_that_follows_forgotten_attempts_is_not_taken(database_url: str) -> None:
    job = claimed(database_url, "true")
    database = Database(database_url)
    journal = Journal(database, "worker")
    with forgetting(database_url):
        journal.end_attempt(job, attempt(1))
        eventually(lambda: keys(database) == {attempt(1).key}, "the attempt in its row")
    assert not journal.report(job, PassFinished(1, 0, 1, Ending.DONE, 0)).result()
    with database.begin() as connection:
        assert jobs.claim(connection, [job.id], "another", 600.0)
    journal.close()
    database.close()


def test_a_worker_with_a_vanished_claim_loses_it_and_ends_nothing_for_the_new_one(
    database: Database, both: tuple[Job, Job]
) -> None:
    vanished, _ = both
    keeper = LeaseKeeper(database, lease=600.0, heartbeat=0.2)
    with keeper.hold(vanished, monotonic()) as held:
        with database.begin() as connection:
            jobs.cancel_attempt(connection, RUNNING.key)
            jobs.cancel(connection, vanished.task_id)
        eventually(held.lost.is_set, "the loss")
        assert not held.unwanted
        assert not held.withdrawn.is_set()
    keeper.close()
