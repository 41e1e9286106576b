"""Approvals in a real Postgres: used once, by one attempt, before they expire, and by its clock."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from orchestrator.acts.submission import Submission, submit
from shared.domain.approval import Approval, ApprovalScope
from shared.domain.config import Policy
from shared.store import approvals
from shared.store.database import Database

LATER = datetime.now(UTC) + timedelta(hours=1)
EARLIER = datetime.now(UTC) - timedelta(seconds=1)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    made = Database(database_url, pool_size=12)
    yield made
    made.close()


@pytest.fixture
def task(database: Database) -> int:
    return submit(database, Submission("p", ("localhost",), Policy()))


def grant(
    database: Database,
    task: int,
    digest: str = "d",
    *,
    scope: ApprovalScope = ApprovalScope.ONCE,
    until: datetime = LATER,
) -> None:
    with database.begin() as connection:
        approvals.grant(connection, task, [Approval(digest, scope, "ann", until)])


def spend(database: Database, task: int, key: str, *digests: str) -> bool:
    with database.autocommit() as connection:
        found = approvals.candidates(connection, task, digests or ("d",), key)
        return any(approvals.spend(connection, number, key) for number, _ in found)


def holds(database: Database, task: int, digest: str = "d") -> bool:
    with database.autocommit() as connection:
        return bool(approvals.unused(connection, task, [digest]))


def test_without_one_nothing_may_start(database: Database, task: int) -> None:
    assert not spend(database, task, "k")
    grant(database, task, "other")
    assert not spend(database, task, "k")
    assert spend(database, task, "k", "d", "other")


def test_one_that_serves_once_serves_one_attempt_however_often_it_asks(
    database: Database, task: int
) -> None:
    grant(database, task)
    assert holds(database, task)
    assert spend(database, task, "first")
    assert not holds(database, task)
    assert spend(database, task, "first")
    assert not spend(database, task, "second")
    grant(database, task)
    assert spend(database, task, "first")
    assert spend(database, task, "second")
    assert not spend(database, task, "third")


def test_one_for_the_task_serves_every_attempt(database: Database, task: int) -> None:
    grant(database, task, scope=ApprovalScope.TASK)
    assert all(spend(database, task, key) for key in ("first", "second", "first"))
    assert holds(database, task)


def test_what_serves_the_whole_task_is_used_before_what_serves_once(
    database: Database, task: int
) -> None:
    grant(database, task)
    grant(database, task, scope=ApprovalScope.TASK)
    assert spend(database, task, "first")
    with database.begin() as connection:
        found = connection.execute(text("SELECT scope, used_by FROM approvals ORDER BY id")).all()
    assert [tuple(row) for row in found] == [("once", None), ("task", "first")]


def test_it_is_of_its_task(database: Database, task: int) -> None:
    other = submit(database, Submission("p", ("localhost",), Policy()))
    grant(database, task, scope=ApprovalScope.TASK)
    assert not spend(database, other, "k")


@pytest.mark.parametrize("scope", ApprovalScope)
def test_one_that_has_expired_serves_nobody(
    database: Database, task: int, scope: ApprovalScope
) -> None:
    grant(database, task, scope=scope, until=EARLIER)
    assert not holds(database, task)
    assert not spend(database, task, "k")


def test_what_an_attempt_has_had_does_not_expire_under_it(database: Database, task: int) -> None:
    """Whoever drives it on after the expiry drives on what was begun in time."""
    grant(database, task)
    assert spend(database, task, "first")
    with database.begin() as connection:
        connection.execute(text("UPDATE approvals SET expires_at = now() - interval '1 day'"))
    assert spend(database, task, "first")
    assert not spend(database, task, "second")


def test_of_many_that_ask_at_once_one_gets_it(database: Database, task: int) -> None:
    grant(database, task)
    for round_no in range(20):
        got: list[str] = []
        start = threading.Barrier(8)

        def ask(name: str, got: list[str] = got, start: threading.Barrier = start) -> None:
            start.wait()
            if spend(database, task, name):
                got.append(name)

        names = [f"{round_no}-{number}" for number in range(8)]
        threads = [threading.Thread(target=ask, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(got) == 1
        grant(database, task)


def test_it_is_written_for_good_before_it_is_used(database: Database, task: int) -> None:
    """Another connection sees it at once: nothing starts that could start again after a crash."""
    grant(database, task)
    with database.autocommit() as connection:
        ((number, offered),) = approvals.candidates(connection, task, ["d"], "first")
        assert offered == Approval("d", ApprovalScope.ONCE, "ann", LATER)
        assert approvals.spend(connection, number, "first")
        assert not spend(database, task, "second")
