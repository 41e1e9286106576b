"""Connections to Postgres that went silent are given up in time, and new ones serve at once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Event
from time import monotonic
from typing import Any

import pytest
from sqlalchemy import Connection, make_url, text

from orchestrator.acts.submission import Submission, submit
from orchestrator.silent_sessions import SilentSessions
from shared.domain.config import Policy
from shared.domain.errors import Transient
from shared.domain.next_step import command_line
from shared.store.connection import UNLIMITED, BoundedConnection, Deadline
from shared.store.database import Database, InDoubt
from tests.integration.database.silence import MARGIN, in_time, select
from tests.journeys.plans import plan, step
from tests.services.databases import execute
from tests.services.proxy import Direction, Proxy
from tests.services.ring import eventually

PAUSE = "idle_in_transaction_session_timeout"
TIMEOUT = 1.0
SOON = TIMEOUT + MARGIN


@pytest.fixture
def database(database_url: str, link: Proxy) -> Iterator[Database]:
    """The test's database over the link."""
    url = make_url(database_url).set(port=link.port).render_as_string(hide_password=False)
    made = Database(url, timeout=TIMEOUT)
    yield made
    made.close()


def write(database: Database) -> None:
    with database.at_once() as connection:
        connection.execute(text("CREATE TABLE IF NOT EXISTS written (n int)"))


@pytest.mark.parametrize("directions", [Direction.BOTH, Direction.TO_SERVER, Direction.TO_CLIENT])
def test_a_statement_on_a_silent_connection_ends_in_time(
    database: Database, link: Proxy, directions: Direction
) -> None:
    select(database)
    assert link.swallow(directions, new=False) == 1
    error = in_time(lambda: select(database), TIMEOUT)
    assert "does not answer" in error.reason
    assert error.next_step is not None
    select(database)


def test_one_silent_connection_retires_all_that_are_as_old(database: Database, link: Proxy) -> None:
    with database.begin() as one, database.begin() as other:
        one.execute(text("SELECT 1"))
        other.execute(text("SELECT 1"))
    assert link.swallow(new=False) == 2
    in_time(lambda: select(database), TIMEOUT)
    with database.begin() as one, database.begin() as other:
        one.execute(text("SELECT 1"))
        other.execute(text("SELECT 1"))


def test_a_new_connection_that_nobody_answers_ends_in_time(database: Database, link: Proxy) -> None:
    link.swallow()
    in_time(lambda: select(database), TIMEOUT)
    in_time(lambda: database.listen("channel"), TIMEOUT)
    link.pass_on()
    select(database)


def test_a_commit_whose_answer_is_swallowed_is_in_doubt(
    database: Database, link: Proxy, database_url: str
) -> None:
    execute(database_url, "CREATE TABLE kept (n int)")

    def commit() -> None:
        with database.begin() as connection:
            connection.execute(text("INSERT INTO kept VALUES (1)"))
            link.swallow(Direction.TO_CLIENT, new=False)

    assert isinstance(in_time(commit, TIMEOUT), InDoubt)
    with database.begin() as connection:
        assert connection.execute(text("SELECT n FROM kept")).scalars().all() == [1]


def test_a_single_write_whose_answer_is_swallowed_is_in_doubt(
    database: Database, link: Proxy
) -> None:
    write(database)
    link.swallow(Direction.TO_CLIENT, new=False)
    assert isinstance(in_time(lambda: write(database), TIMEOUT), InDoubt)


def test_a_listener_that_hears_nothing_notices(database: Database, link: Proxy) -> None:
    listener = database.listen("channel")
    assert database.notifications(listener, 0.01) == []
    link.swallow(new=False)
    began = monotonic()

    def listen_on() -> None:
        while monotonic() - began < SOON + TIMEOUT:
            database.notifications(listener, 0.1)

    began = monotonic()
    with pytest.raises(Transient, match="does not answer"):
        listen_on()
    assert monotonic() - began < SOON + TIMEOUT
    with database.listen("channel") as again, database.begin() as connection:
        connection.execute(text("NOTIFY channel, 'x'"))
        connection.commit()
        assert database.notifications(again, 5) == ["x"]


def test_locks_of_a_silent_connection_are_released(
    database: Database, link: Proxy, database_url: str
) -> None:
    """The server does not know that its client is gone: it ends the transaction by itself."""
    execute(database_url, "CREATE TABLE guarded (n int)")

    def hold() -> None:
        with database.begin() as connection:
            connection.execute(text("LOCK guarded"))
            link.swallow(new=False)
            connection.execute(text("SELECT 1"))

    in_time(hold, TIMEOUT)

    def wait_for_the_lock() -> None:
        with database.begin(Deadline(10)) as connection:
            connection.execute(text("LOCK guarded"))

    began = monotonic()
    wait_for_the_lock()
    assert monotonic() - began < SOON


def test_what_a_client_holds_that_fell_silent_within_a_batch_is_released(
    database: Database, database_url: str
) -> None:
    """No limit of the server's own ends its session, and the network is there."""
    execute(database_url, "CREATE TABLE guarded (n int)")
    with silent_within_a_batch(database, b"LOCK guarded") as pid:
        eventually(lambda: silence(database, pid) > 2 * TIMEOUT, "a long silence", 60)
        sessions = SilentSessions(database)
        assert sessions.end() == 0, "it may have ended a long statement just now"
        with waiting_for(database, "guarded"):
            assert sessions.end() == 1
        eventually(lambda: silence(database, pid) is None, "the end of its process")


def test_what_others_skip_is_released_though_nobody_waits_for_it(
    database: Database, database_url: str
) -> None:
    """As coordinators skip a task that is locked, and would skip it for ever."""
    execute(database_url, "CREATE TABLE guarded (n int); INSERT INTO guarded VALUES (1), (2)")
    free = "SELECT n FROM guarded ORDER BY n FOR UPDATE SKIP LOCKED"
    hold = b"SELECT n FROM guarded WHERE n = 1 FOR UPDATE"
    sessions = SilentSessions(database)
    with silent_within_a_batch(database, hold) as pid:
        eventually(lambda: silence(database, pid) > 2 * TIMEOUT, "a long silence", 60)
        with database.begin() as connection:
            assert connection.execute(text(free)).scalars().all() == [2]
        assert [sessions.end(), sessions.end()] == [0, 1]
        eventually(lambda: silence(database, pid) is None, "the end of its process")
        with database.begin() as connection:
            assert connection.execute(text(free)).scalars().all() == [1, 2]


def test_a_session_that_was_silent_and_works_again_is_not_ended(database: Database) -> None:
    """The end of a batch came late, or a long statement has just ended."""
    sessions = SilentSessions(database)
    with silent_within_a_batch(database, b"SELECT 1") as pid:
        eventually(lambda: silence(database, pid) > 2 * TIMEOUT, "a long silence", 60)
        assert sessions.end() == 0
    eventually(lambda: silence(database, pid) is None, "the end of its process")
    assert sessions.end() == 0


def test_a_session_of_another_program_stays(database: Database, database_url: str) -> None:
    """That of a backup, which may write to a slow disk for long."""
    execute(database_url, "CREATE TABLE guarded (n int)")
    with silent_within_a_batch(database, b"LOCK guarded", b"SET application_name = 'x'") as pid:
        eventually(lambda: silence(database, pid) > 2 * TIMEOUT, "a long silence", 60)
        with waiting_for(database, "guarded"):
            eventually(lambda: is_waited_for(database, pid), "somebody waiting", 60)
            sessions = SilentSessions(database)
            assert [sessions.end(), sessions.end()] == [0, 0]
        assert silence(database, pid) is not None


def test_a_session_that_works_for_long_is_not_ended(database: Database, database_url: str) -> None:
    execute(database_url, "CREATE TABLE guarded (n int)")
    over = Event()

    def work() -> None:
        with database.begin(UNLIMITED) as connection:
            connection.execute(text("LOCK guarded"))
            over.set()
            connection.execute(text(f"SELECT pg_sleep({3 * TIMEOUT})"))

    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        over.wait()
        sessions = SilentSessions(database)
        with waiting_for(database, "guarded"):
            while not working.done():
                assert sessions.end() == 0
        working.result()


@contextmanager
def silent_within_a_batch(database: Database, *statements: bytes) -> Iterator[int]:
    """A client that has sent statements and not the end of its batch; its server process."""
    connection = database.engine.raw_connection()
    driver = connection.driver_connection
    assert isinstance(driver, BoundedConnection)
    driver.pgconn.enter_pipeline_mode()
    for each in (b"BEGIN", *statements):
        driver.pgconn.send_query_params(each, None)
    driver.pgconn.send_flush_request()
    driver.pgconn.flush()
    try:
        yield driver.info.backend_pid
    finally:
        connection.invalidate()


def is_waited_for(database: Database, pid: int) -> bool:
    query = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE :pid = ANY(pg_blocking_pids(pid)))"
    with database.autocommit() as connection:
        return bool(connection.execute(text(query), {"pid": pid}).scalar())


def silence(database: Database, pid: int) -> Any:
    """Seconds for which the server process has heard nothing; None if it has ended."""
    query = """
        SELECT extract(epoch FROM clock_timestamp() - state_change)::float8
        FROM pg_stat_activity WHERE pid = :pid
    """
    with database.autocommit() as connection:
        return connection.execute(text(query), {"pid": pid}).scalar()


@contextmanager
def waiting_for(database: Database, table: str) -> Iterator[None]:
    """Somebody waits for the table, again and again, while the block lasts."""
    over = Event()

    def wait() -> None:
        while not over.is_set():
            with suppress(Transient), database.begin() as connection:
                connection.execute(text(f"LOCK {table}"))

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(wait)
        try:
            yield
        finally:
            over.set()
        waiting.result()


def test_the_server_ends_a_slow_statement_first_and_the_connection_lives(
    database: Database,
) -> None:
    def pid() -> object:
        with database.begin() as connection:
            return connection.execute(text("SELECT pg_backend_pid()")).scalar()

    def be_slow() -> None:
        with database.begin() as connection:
            connection.execute(text("SELECT pg_sleep(30)"))

    before = pid()
    assert "took too long" in in_time(be_slow, TIMEOUT).reason
    assert pid() == before


def test_a_lock_that_somebody_keeps_is_named(database: Database, database_url: str) -> None:
    execute(database_url, "CREATE TABLE guarded (n int)")

    def wait() -> None:
        with database.begin() as connection:
            connection.execute(text("LOCK guarded"))

    with database.begin() as holder:
        holder.execute(text("LOCK guarded"))
        assert "lock" in in_time(wait, TIMEOUT).reason


def test_a_submission_to_a_silent_database_ends_with_what_to_ask(
    database: Database, link: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is tried once more, not five times."""
    monkeypatch.setattr("orchestrator.acts.submission._PATIENCE", TIMEOUT / 2)
    select(database)
    link.swallow(Direction.TO_CLIENT)
    began = monotonic()
    with pytest.raises(InDoubt) as error:
        submit(database, Submission("p", ("localhost",), Policy(), plan(step(["true"]))))
    assert monotonic() - began < 9 * TIMEOUT  # libpq gives a new connection 2 s at least
    assert command_line(error.value.next_step) == "replan task list"
    link.pass_on()
    with database.begin() as connection:
        assert connection.execute(text("SELECT count(*) FROM tasks")).scalar() == 1


def test_what_may_take_long_may_take_long(database: Database) -> None:
    with database.begin(UNLIMITED) as connection:
        connection.execute(text(f"SELECT pg_sleep({2 * TIMEOUT})"))
    with database.begin(Deadline(10 * TIMEOUT)) as connection:
        connection.execute(text(f"SELECT pg_sleep({2 * TIMEOUT})"))
    with database.begin() as connection, pytest.raises(Exception, match="statement timeout"):
        connection.execute(text(f"SELECT pg_sleep({2 * TIMEOUT})"))


def test_a_reader_may_pause_in_its_snapshot(database: Database) -> None:
    """`replan task report | less` shows a page for as long as somebody reads it."""
    for deadline in (None, UNLIMITED):
        with database.reading(deadline) as connection:
            connection.execute(text("SELECT 1"))
            assert setting(connection, PAUSE) == "1h"
    with database.begin() as connection:
        assert setting(connection, PAUSE) == "1500ms"


def setting(connection: Connection, name: str) -> object:
    return connection.execute(text("SELECT current_setting(:name)"), {"name": name}).scalar()


def test_what_the_address_says_wins(database_url: str) -> None:
    options = "-c%20statement_timeout%3D77s"
    url = f"{database_url}?options={options}&keepalives_idle=7&connect_timeout=3"
    database = Database(url, timeout=15)
    with database.begin() as connection:
        assert setting(connection, "statement_timeout") == "77s"
        assert setting(connection, "lock_timeout") != "0"
        raw = connection.connection.dbapi_connection
        assert raw is not None
        given = raw.info.get_parameters()
    assert (given["keepalives_idle"], given["connect_timeout"]) == ("7", "3")
    assert given["tcp_user_timeout"] == "15000"
    database.close()
