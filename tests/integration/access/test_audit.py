"""The audit on a real Postgres: in the commit of what it records, one chain whoever writes."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from orchestrator.access import audit
from orchestrator.access.actor import Actor, account
from orchestrator.access.audit import Act
from orchestrator.access.chain import NOTHING
from orchestrator.acts.submission import Submission, submit
from shared.domain.config import Policy
from shared.domain.errors import Misconfigured, Rejected
from shared.store.database import Database

ASKED = Submission("p", ("localhost",), Policy())


def did(database: Database, actor: Actor, *refs: str) -> None:
    """One act each, a commit each."""
    for ref in refs:
        with database.begin() as connection:
            audit.record(connection, actor, Act("task.cancel", ref, {"n": 1}))


def changed(database: Database, statement: str) -> None:
    with database.begin() as connection:
        connection.execute(text(statement))


def test_an_empty_audit_is_whole(database: Database) -> None:
    assert audit.verify(database) == (NOTHING, [])


def test_who_did_what_to_what_and_when(database: Database, ann: Actor) -> None:
    did(database, ann, "T1", "T1.2", "T11", "T1@web1")
    with database.begin() as connection:
        everything = audit.newest(connection, limit=9)
        of_one = audit.newest(connection, limit=9, ref="T1")
        of_nobody = audit.newest(connection, limit=9, actor="bob@box")
        near = audit.newest(connection, limit=9, around=4)
        now = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
    assert [(e.seq, e.ref) for e in everything] == [
        (4, "T1@web1"),
        (3, "T11"),
        (2, "T1.2"),
        (1, "T1"),
    ]
    assert {e.actor for e in everything} == {"ann@box"}
    assert everything[0].at <= now
    assert [e.ref for e in of_one] == ["T1@web1", "T1.2", "T1"]
    assert of_nobody == ()
    assert [e.seq for e in near] == [4, 3, 2]


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_postgres_and_this_program_hash_alike(database: Database, ann: Actor, word: str) -> None:
    """Whatever is said: quotes, controls, and what is not Latin."""
    with database.begin() as connection:
        audit.record(connection, ann, Act("host.add", word, {word: [word, 1, None]}))
    assert audit.verify(database)[1] == []


def test_a_submission_and_its_entry_are_one_commit(database: Database) -> None:
    task = submit(database, ASKED)
    with pytest.raises(Rejected):
        submit(database, Submission("p", ("nowhere",), Policy()))
    with database.begin() as connection:
        (entry,) = audit.newest(connection, limit=9)
    assert (entry.actor, entry.verb, entry.ref) == (account().name, "task.submit", f"T{task}")
    assert json.loads(entry.details)["targets"] == ["localhost"]


def test_the_same_submission_is_entered_once(database: Database) -> None:
    asked = Submission("p", ("localhost",), Policy(), key="once")
    assert submit(database, asked) == submit(database, asked)
    assert audit.verify(database)[0].seq == 1


def test_what_is_rolled_back_leaves_no_gap(database: Database, ann: Actor) -> None:
    did(database, ann, "T1")
    with database.engine.connect() as connection:
        audit.record(connection, ann, Act("task.cancel", "T2"))
        connection.rollback()
    did(database, ann, "T3")
    end, faults = audit.verify(database)
    assert (end.seq, faults) == (2, [])


def test_many_at_once_make_one_chain(database: Database, ann: Actor) -> None:
    """Submissions and other acts, each in a transaction of its own, and a reader all the while."""
    broken: list[object] = []
    over = threading.Event()

    def read() -> None:
        while not over.is_set():
            broken.extend(audit.verify(database)[1])

    reader = threading.Thread(target=read)
    reader.start()
    with ThreadPoolExecutor(8) as pool:
        futures = [
            pool.submit(submit, database, ASKED)
            if number % 2
            else pool.submit(did, database, ann, f"T{number}")
            for number in range(200)
        ]
        for future in futures:
            future.result()
    over.set()
    reader.join()
    end, faults = audit.verify(database)
    assert (end.seq, faults, broken) == (200, [], [])


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE audit SET actor = 'eve' WHERE seq = 3", {3}),
        ("UPDATE audit SET at = at + interval '1 microsecond' WHERE seq = 3", {3}),
        ("UPDATE audit SET details = '{}' WHERE seq = 5", {5}),
        ("DELETE FROM audit WHERE seq = 3", {4}),
        ("DELETE FROM audit WHERE seq > 3", {5}),
        ("TRUNCATE audit", {5}),
        ("UPDATE audit SET seq = 99 WHERE seq = 2", {3, 99}),
        (
            "UPDATE audit SET seq = -seq WHERE seq IN (2, 3);"
            "UPDATE audit SET seq = 5 + seq WHERE seq < 0",
            {2, 3, 4},
        ),
        ("UPDATE audit_head SET seq = 4, hash = previous", {5}),
    ],
)
def test_what_was_done_to_it_is_found_and_named(
    database: Database, ann: Actor, statement: str, named: set[int]
) -> None:
    did(database, ann, *(f"T{number}" for number in range(1, 6)))
    for each in statement.split(";"):
        changed(database, each)
    found = {fault.seq for fault in audit.verify(database)[1]}
    assert named <= found


def test_without_its_head_nothing_is_done_that_would_have_to_be_recorded(
    database: Database, ann: Actor
) -> None:
    changed(database, "DELETE FROM audit_head")
    with pytest.raises(Misconfigured, match="lost its head"):
        submit(database, ASKED)
    with pytest.raises(Misconfigured, match="lost its head"):
        did(database, ann, "T1")
    with pytest.raises(Misconfigured, match="lost its head"):
        audit.verify(database)
    with database.begin() as connection:
        assert connection.execute(text("SELECT count(*) FROM tasks")).scalar_one() == 0
        assert connection.execute(text("SELECT count(*) FROM inbox")).scalar_one() == 0
