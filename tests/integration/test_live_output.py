"""Live output stands in the database only for as long as its attempt runs."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from orchestrator.coordinator import Coordinator
from shared.domain.attempt import Attempt, Outcome
from shared.domain.config import Policy
from shared.domain.jobs import Job
from shared.store import attempts
from shared.store.attempts import Record
from shared.store.database import Database
from tests.contract.store_under_test import SqlUnderTest
from tests.journeys.plans import plan, step

NOW = datetime.now(UTC)
ATTEMPT = Attempt("R1-1-r0-1-p1-t0", 1, 1, 0, 1, 1, 0, 1, "true", Outcome.OK, NOW, NOW)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """An empty one."""
    made = Database(database_url)
    yield made
    made.close()


@pytest.fixture
def job(database: Database) -> Job:
    """A pass in hand."""
    store = SqlUnderTest(database)
    store.submit(("web1",), Policy(), plan(step(["true"])))
    Coordinator(store.ledger).drain()
    claimed = store.claim(store.waiting()[0])
    assert claimed is not None
    return claimed


def write(database: Database, job: Job, *, ended: bool) -> None:
    """Record the attempt as it is."""
    attempt = replace(ATTEMPT, run_id=job.run_id or 0)
    with database.begin() as connection:
        attempts.record(connection, [Record(job.id, job.fence, attempt, ended, "worker")])


def say(database: Database, *lines: bytes) -> list[str]:
    """Append output; all that stands there then."""
    with database.begin() as connection:
        numbers = attempts.reserve_output(connection, len(lines))
        pieces = [(ATTEMPT.key, "stdout", line) for line in lines]
        attempts.append_output(connection, numbers, pieces)
        return list(connection.execute(text("SELECT text FROM live_output ORDER BY id")).scalars())


def test_output_stands_in_order_while_the_attempt_runs(database: Database, job: Job) -> None:
    write(database, job, ended=False)
    assert say(database, b"one", b"two") == ["one", "two"]


def test_what_a_late_worker_says_of_an_ended_attempt_is_left_out(
    database: Database, job: Job
) -> None:
    """Nobody would remove it: who ended the attempt has removed what there was."""
    write(database, job, ended=False)
    write(database, job, ended=True)
    assert say(database, b"late") == []
