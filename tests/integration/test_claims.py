"""One statement claims several jobs, each as if it were claimed alone."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from orchestrator import waiting_jobs
from orchestrator.acts.submission import Submission, submit
from orchestrator.coordinator import Coordinator
from orchestrator.relay import Relay
from orchestrator.store import SqlLedger
from shared.domain.config import Policy
from shared.store import jobs
from shared.store.database import Database
from tests.journeys.plans import plan, step
from tests.services.ring import eventually


@pytest.fixture
def waiting(database: Database) -> list[int]:
    """Four jobs of four tasks."""
    for _ in range(4):
        submit(database, Submission("p", ("localhost",), Policy(), plan(step(["true"]))))
    Coordinator(SqlLedger(database)).drain()
    with database.autocommit() as connection:
        return jobs.claimable(connection, ["execution"], 10)


def claim(database: Database, job_ids: Sequence[int], owner: str = "me") -> list[int]:
    with database.at_once() as connection:
        claimed = jobs.claim(connection, job_ids, owner, 60, ["execution"])
    return sorted(job.id for job in claimed)


def change(database: Database, statement: str, **values: int) -> None:
    with database.begin() as connection:
        connection.execute(text(statement), values)


def waits(database: Database) -> bool:
    """Whether a statement waits for another's rows."""
    query = text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    with database.autocommit() as connection:
        return bool(connection.execute(query).scalar())


def test_only_what_is_to_be_had(database: Database, waiting: list[int]) -> None:
    """Not jobs of another worker or queue, jobs that are not due, or jobs that never existed."""
    theirs, elsewhere, later, free = waiting
    assert claim(database, [theirs], "other") == [theirs]
    change(database, "UPDATE jobs SET queue = 'planning' WHERE id = :id", id=elsewhere)
    change(database, "UPDATE jobs SET due_at = now() + interval '1 hour' WHERE id = :id", id=later)
    assert claim(database, [*waiting, 999_999, free]) == [free]
    assert claim(database, []) == []


def test_each_is_claimed_once_by_two_who_want_all(database: Database, waiting: list[int]) -> None:
    with ThreadPoolExecutor(2) as pool:
        got = list(pool.map(lambda owner: claim(database, waiting, owner), ("one", "two")))
    assert sorted(got[0] + got[1]) == waiting


def test_a_bell_that_is_just_being_noted_is_waited_for(
    database: Database, waiting: list[int]
) -> None:
    """No job is left out because the coordinator has locked its row."""
    with ThreadPoolExecutor(1) as pool, database.begin() as coordinator:
        waiting_jobs.rung(coordinator, waiting[1:3])
        claimed = pool.submit(claim, database, waiting)
        eventually(lambda: waits(database), "the claim to wait")
        coordinator.commit()
        assert claimed.result() == waiting


def test_what_is_cancelled_meanwhile_is_left_out(database: Database, waiting: list[int]) -> None:
    with ThreadPoolExecutor(1) as pool, database.begin() as coordinator:
        jobs.cancel(coordinator, 2)
        claimed = pool.submit(claim, database, waiting)
        eventually(lambda: waits(database), "the claim to wait")
        coordinator.commit()
        assert claimed.result() == [waiting[0], *waiting[2:]]


class Bell:
    """Remembers which jobs were rung for together."""

    def __init__(self) -> None:
        self.rung: list[list[int]] = []

    def ring(self, _queue: str, job_ids: Sequence[int]) -> None:
        self.rung.append(sorted(job_ids))

    def ringing(self, _queue: str) -> int:
        return 0


def test_what_was_left_behind_is_rung_for_alone(database: Database, waiting: list[int]) -> None:
    """It may have killed its worker, and must not take other jobs with it."""
    bell = Bell()
    relay = Relay(database, bell, ring_again=60)
    relay.ring_due()
    assert bell.rung == [waiting]
    assert claim(database, waiting[:1]) == waiting[:1]
    change(database, "UPDATE jobs SET lease_until = now() - interval '1 s' WHERE claims > 0")
    change(database, "UPDATE jobs SET rung_at = NULL")
    relay.ring_due()
    assert bell.rung[1:] == [waiting[1:], waiting[:1]]
