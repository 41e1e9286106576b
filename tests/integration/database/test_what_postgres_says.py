"""What a real Postgres says in trouble, and what we make of it."""

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection, make_url, text
from sqlalchemy.exc import OperationalError

from orchestrator.embedded.services import EmbeddedServices
from shared.domain.errors import Misconfigured, ReplanError, Transient
from shared.domain.next_step import command_line
from shared.store.connection import UNLIMITED
from shared.store.database import Database, InDoubt, require_writable
from tests.services.availability import needs_root, not_possible_here
from tests.services.breakable import Breakable
from tests.services.databases import execute
from tests.services.disks import succeeds


@pytest.fixture
def plain_url(database_url: str) -> Iterator[str]:
    """The database for a role that is nobody special."""
    name = f"clerk_{make_url(database_url).database}"
    execute(database_url, "CREATE ROLE {} LOGIN PASSWORD 'x'", name)
    yield make_url(database_url).set(username=name, password="x").render_as_string(False)
    execute(
        database_url,
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{name}'",  # noqa: S608
    )
    execute(database_url, "DROP ROLE {}", name)


def run(database: Database, *statements: str) -> None:
    with database.begin() as connection:
        for each in statements:
            connection.execute(text(each))


def failure(act: Callable[[], object]) -> ReplanError:
    """The error, which always comes with a next step."""
    with pytest.raises(ReplanError) as caught:
        act()
    assert caught.value.next_step is not None
    assert "REPLAN_TRACEBACK" not in (command_line(caught.value.next_step) or "")
    return caught.value


def opened(url: str) -> Database:
    return Database(url, pooled=False)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("SELECT pg_sleep(10)", "took too long"),  # 57014
        ("SELECT pg_terminate_backend(pg_backend_pid())", "shut down"),  # 57P01
        ("SELECT pg_cancel_backend(pg_backend_pid())", "cancelled"),  # 57014
        ("SELECT pg_read_file('/nowhere')", "system below"),  # 58P01
        (  # 53200: more than any table of locks has places for
            "DO 'BEGIN FOR n IN 1..90000 LOOP PERFORM pg_advisory_xact_lock(n); END LOOP; END'",
            "out of memory",
        ),
        (  # 53400
            "SELECT n FROM generate_series(1, 90000) n ORDER BY -n",
            "limit of its configuration",
        ),
    ],
)
def test_a_statement_that_fails_for_the_server_is_transient(
    database: Database, statement: str, words: str
) -> None:
    def act() -> None:
        with database.begin() as connection:
            connection.execute(text("SET LOCAL statement_timeout = '5s'"))
            connection.execute(text("SET LOCAL temp_file_limit = '256kB'"))
            connection.execute(text("SET LOCAL work_mem = '64kB'"))
            connection.execute(text(statement))

    error = failure(act)
    assert isinstance(error, Transient)
    assert not isinstance(error, InDoubt)
    assert words in error.reason


def test_a_read_only_transaction_is_named(database: Database) -> None:
    error = failure(
        lambda: run(database, "SET TRANSACTION READ ONLY", "CREATE TABLE never (n int)")
    )
    assert isinstance(error, Transient)
    assert "read-only" in error.reason


def test_an_idle_transaction_and_an_idle_session_that_were_ended(database: Database) -> None:
    def pause(setting: str, connection: Connection) -> None:
        connection.execute(text(f"SET {setting} = '50ms'"))
        connection.connection.commit()
        if setting.startswith("idle_in"):
            connection.execute(text("SELECT 1"))
        threading.Event().wait(0.5)
        connection.execute(text("SELECT 1"))

    for setting, words in (
        ("idle_in_transaction_session_timeout", "paused"),
        ("idle_session_timeout", "idle"),
    ):

        def act(setting: str = setting) -> None:
            with database.begin() as connection:
                pause(setting, connection)

        error = failure(act)
        assert isinstance(error, Transient)
        assert words in error.reason


def test_a_lock_that_is_held_is_named(database: Database) -> None:
    run(database, "CREATE TABLE guarded (n int)")
    with database.begin() as holder:
        holder.execute(text("LOCK guarded"))
        error = failure(lambda: run(database, "SET LOCAL lock_timeout = '50ms'", "LOCK guarded"))
    assert isinstance(error, Transient)
    assert "holds a lock" in error.reason


def test_two_transactions_in_conflict_are_transient(database: Database) -> None:
    """40P01: each waits for the other."""
    run(database, "CREATE TABLE pair (n int PRIMARY KEY)", "INSERT INTO pair VALUES (1), (2)")
    errors: list[ReplanError] = []
    both = threading.Barrier(2)

    def cross(first: int, second: int) -> None:
        try:
            with database.begin() as connection:
                connection.execute(text("SELECT 1 FROM pair WHERE n = :n FOR UPDATE"), {"n": first})
                both.wait(10)
                connection.execute(
                    text("SELECT 1 FROM pair WHERE n = :n FOR UPDATE"), {"n": second}
                )
        except ReplanError as error:
            errors.append(error)

    threads = [threading.Thread(target=cross, args=pair) for pair in ((1, 2), (2, 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (error,) = errors
    assert isinstance(error, Transient)
    assert "in conflict" in error.reason


def test_a_serialization_failure_is_transient(database: Database) -> None:
    run(database, "CREATE TABLE one (n int)", "INSERT INTO one VALUES (1)")

    def act() -> None:
        with database.begin() as connection:
            connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
            connection.execute(text("SELECT n FROM one"))
            run(database, "UPDATE one SET n = 2")
            connection.execute(text("UPDATE one SET n = 3"))

    error = failure(act)
    assert isinstance(error, Transient)
    assert "in conflict" in error.reason


@pytest.mark.parametrize("listening", [False, True])
def test_a_server_with_no_connection_left_is_waited_for(
    database_url: str, plain_url: str, listening: bool
) -> None:
    """Only a role that is nobody special counts against the limit."""
    execute(database_url, "ALTER ROLE {} CONNECTION LIMIT 0", make_url(plain_url).username or "")
    clerk = opened(plain_url)
    error = failure(lambda: clerk.listen("x") if listening else run(clerk, "SELECT 1"))
    assert isinstance(error, Transient)
    assert "accepts no more connections" in error.reason


def test_a_server_whose_places_are_all_taken_is_waited_for(unmigrated: Breakable) -> None:
    hogs = Database(unmigrated.database_url, pool_size=300)
    held: list[Connection] = []

    def take_all() -> None:
        held.extend(hogs.engine.connect() for _ in range(300))

    with pytest.raises(OperationalError):
        take_all()
    error = failure(lambda: run(opened(unmigrated.database_url), "SELECT 1"))
    assert isinstance(error, Transient)
    assert "accepts no more connections" in error.reason
    for each in held:
        each.close()
    hogs.close()


def test_what_only_the_operator_can_mend(database_url: str, plain_url: str) -> None:
    url = make_url(plain_url)
    for address, statement, words in (
        (url.set(password="wrong"), "SELECT 1", "refuses the login"),
        (url.set(database="nowhere"), "SELECT 1", "no such database"),
        (url, "SELECT * FROM tasks", "denies a right"),
        (make_url(database_url), "SELECT * FROM replan_nothing", "no tables of replan"),
    ):
        database = opened(address.render_as_string(hide_password=False))
        error = failure(lambda d=database, s=statement: run(d, s))  # type: ignore[misc]
        assert isinstance(error, Misconfigured), error.reason
        assert words in error.reason


def test_a_server_that_is_not_ready_yet_is_waited_for(unmigrated: Breakable) -> None:
    """A standby that nobody may read never is."""
    services = unmigrated._services
    unmigrated.stop_database()
    assert services._postgres is not None
    child = services._postgres.child()
    assert child.owned is not None
    signal = child.owned / "standby.signal"
    signal.touch()
    owner = child.owned.stat()
    os.chown(signal, owner.st_uid, owner.st_gid)
    services.supervisor.add(replace(child, argv=(*child.argv, "--hot-standby=off"), ready=None))
    said: list[str] = []

    def ask() -> bool:
        error = failure(lambda: run(opened(services.database_url), "SELECT 1"))
        assert isinstance(error, Transient)
        said.append(error.reason)
        return "starting up, shutting down or recovering" in error.reason

    until = threading.Event()
    for _ in range(200):
        if ask():
            break
        until.wait(0.05)
    assert "starting up, shutting down or recovering" in said[-1]


@needs_root
def test_a_full_disk_is_named(database: Database, embedded_services: EmbeddedServices) -> None:
    """Also by what `doctor` asks."""
    owner = (embedded_services.data_dir / "postgres" / "cluster").stat()
    folder = Path(tempfile.mkdtemp(prefix="replan-full-", dir="/tmp"))
    options = f"size=512k,mode=700,uid={owner.st_uid},gid={owner.st_gid}"
    folder.chmod(0o755)
    disk = folder / "disk"
    disk.mkdir()
    if not succeeds("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)):
        shutil.rmtree(folder)
        not_possible_here("this container may not mount")
    try:
        with database.autocommit() as connection:
            connection.execute(text(f"CREATE TABLESPACE full_disk LOCATION '{disk}'"))
        fill = "INSERT INTO filled SELECT repeat(n::text, 200) FROM generate_series(1, 9999) n"
        error = failure(
            lambda: run(database, "CREATE TABLE filled (t text) TABLESPACE full_disk", fill)
        )
        assert isinstance(error, Transient)
        assert "disk of the database is full" in error.reason
        (disk / "rest").write_bytes(b"x" * (os.statvfs(disk).f_bavail * 4096))
        name = make_url(database.url).database
        with database.autocommit() as connection:
            connection.execute(text(f'ALTER DATABASE "{name}" SET temp_tablespaces = full_disk'))
        error = failure(lambda: require_writable(opened(render(database))))
        assert "disk of the database is full" in error.reason
    finally:
        with database.begin(UNLIMITED) as connection:
            name = make_url(database.url).database
            connection.execute(text(f'ALTER DATABASE "{name}" RESET ALL'))
        with database.autocommit() as connection:
            connection.execute(text("DROP TABLESPACE IF EXISTS full_disk"))
        succeeds("umount", "--lazy", str(disk))
        shutil.rmtree(folder)


def render(database: Database) -> str:
    return database.url.render_as_string(hide_password=False)
