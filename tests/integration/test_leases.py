"""Leases on a real database: what a worker learns about its job, with and without a message."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from time import monotonic

import pytest

from orchestrator.acts.submission import Submission, submit
from orchestrator.coordinator import Coordinator
from orchestrator.store import SqlLedger
from shared.domain.attempt import Attempt
from shared.domain.config import Policy
from shared.domain.jobs import Job
from shared.domain.outcome import Outcome
from shared.store import attempts, jobs
from shared.store.attempts import AttemptWrite
from shared.store.database import Database
from tests.journeys.plans import plan, step
from tests.services.ring import eventually
from workers.process.leases import LeaseKeeper

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
KEY = "R1-1-r0-1-p1-t0"
NEVER = 600.0
"""A heartbeat so long that only the first one happens during a test."""


@pytest.fixture
def job(database: Database) -> Job:
    """A claimed job with a running attempt."""
    submit(database, Submission("p", ("localhost",), Policy(), plan(step(["sleep 9"]))))
    Coordinator(SqlLedger(database)).drain()
    running = Attempt(KEY, 1, 1, 0, 1, 1, 0, 1, "sleep 9", Outcome.FAILED, AT, AT)
    with database.begin() as connection:
        (claimed,) = jobs.claim(connection, [1], "worker", NEVER)
        entry = AttemptWrite(claimed.claim, running, ended=False, worker="worker")
        assert attempts.record(connection, [entry]).ours == {KEY}
    return claimed


@pytest.fixture
def keep(database: Database) -> Iterator[Callable[[float], LeaseKeeper]]:
    """Makes keepers that already listen when the test gets them."""
    made: list[LeaseKeeper] = []

    def make(heartbeat: float) -> LeaseKeeper:
        beats: list[int] = []
        keeper = LeaseKeeper(
            database, lease=NEVER, heartbeat=heartbeat, beat=lambda: beats.append(1)
        )
        made.append(keeper)
        eventually(lambda: beats, "the first beat")
        return keeper

    yield make
    for keeper in made:
        keeper.close()


def test_a_worker_hears_at_once_that_an_attempt_is_unwanted(
    database: Database, job: Job, keep: Callable[[float], LeaseKeeper]
) -> None:
    with keep(NEVER).hold(job, monotonic()) as hold:
        assert hold.unwanted == set()
        with database.begin() as connection:
            jobs.cancel_attempt(connection, KEY)
        eventually(lambda: hold.unwanted == {KEY}, "word of it")
        assert not hold.lost.is_set()


def test_a_worker_that_did_not_hear_learns_it_from_its_heartbeat(
    database: Database, job: Job, keep: Callable[[float], LeaseKeeper]
) -> None:
    with keep(0.2).hold(job, monotonic()) as hold:
        with database.begin() as connection:
            connection.exec_driver_sql("UPDATE jobs SET cancel_attempt = %s", (KEY,))
        eventually(lambda: hold.unwanted == {KEY}, "word of it")
        assert not hold.lost.is_set()


def test_a_worker_that_drives_a_pass_on_knows_it_from_the_start(
    job: Job, keep: Callable[[float], LeaseKeeper]
) -> None:
    with keep(NEVER).hold(replace(job, cancel_attempt=KEY), monotonic()) as hold:
        assert hold.unwanted == {KEY}


def test_a_worker_hears_that_its_job_was_withdrawn(
    database: Database, job: Job, keep: Callable[[float], LeaseKeeper]
) -> None:
    with keep(NEVER).hold(job, monotonic()) as hold:
        with database.begin() as connection:
            jobs.cancel(connection, job.task_id)
        eventually(hold.withdrawn.is_set, "word of it")
        assert hold.unwanted == set()
        assert not hold.lost.is_set()


def test_a_worker_that_did_not_hear_of_it_learns_that_its_job_was_withdrawn(
    database: Database, job: Job, keep: Callable[[float], LeaseKeeper]
) -> None:
    with keep(0.2).hold(job, monotonic()) as hold:
        with database.begin() as connection:
            connection.exec_driver_sql("UPDATE jobs SET state = 'cancelled'")
        eventually(hold.withdrawn.is_set, "word of it")
        assert not hold.lost.is_set()


def test_a_job_that_another_worker_has_taken_is_lost_and_not_withdrawn(
    database: Database, job: Job, keep: Callable[[float], LeaseKeeper]
) -> None:
    """Its command now belongs to the other worker and must not be ended."""
    with keep(0.2).hold(job, monotonic()) as hold:
        with database.begin() as connection:
            connection.exec_driver_sql("UPDATE jobs SET fence = fence + 1")
        eventually(hold.lost.is_set, "word of it")
        assert not hold.withdrawn.is_set()


def test_a_lease_is_valid_from_when_it_was_asked_for(
    job: Job, keep: Callable[[float], LeaseKeeper]
) -> None:
    """Never longer than the database keeps other workers away."""
    asked_at = monotonic()
    with keep(0.2).hold(job, asked_at) as hold:
        first = hold.valid_until
        eventually(lambda: hold.valid_until > first, "a renewal")
    assert first <= asked_at + NEVER
