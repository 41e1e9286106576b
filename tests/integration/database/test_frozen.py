"""A Postgres that is frozen, and one whose commits wait for a standby that is away."""

import os
import signal
from collections.abc import Iterator
from time import monotonic

import pytest
from sqlalchemy import text

from shared.domain.errors import Transient
from shared.store.connection import Listener
from shared.store.database import Database, InDoubt
from tests.integration.database.silence import in_time, select
from tests.services.breakable import Breakable
from tests.services.databases import execute
from tests.services.processes import descendants
from tests.services.ring import eventually

TIMEOUT = 1.0


@pytest.fixture
def database(unmigrated: Breakable) -> Iterator[Database]:
    """The database of a server that the test may freeze."""
    made = Database(unmigrated.database_url, timeout=TIMEOUT)
    yield made
    made.close()


def test_a_frozen_server_holds_nobody_up(database: Database, unmigrated: Breakable) -> None:
    select(database)
    listener = database.listen("channel")
    states = unmigrated._services.supervisor.status()
    server = next(state.pid for state in states if state.name == "postgres")
    assert server is not None
    frozen = [server, *(pid for pid, _ in descendants(server))]
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    try:
        error = in_time(lambda: select(database), TIMEOUT)
        assert "does not answer" in error.reason
        in_time(lambda: select(database), 2 * TIMEOUT)  # a new connection
        assert (
            "does not answer" in in_time(lambda: listen_on(database, listener), 3 * TIMEOUT).reason
        )
    finally:
        for pid in frozen:
            os.kill(pid, signal.SIGCONT)
    eventually(lambda: works(database), "the server going on")


def listen_on(database: Database, listener: Listener) -> None:
    """Listen for as long as it takes to notice that nobody is there."""
    until = monotonic() + 10 * TIMEOUT
    while monotonic() < until:
        database.notifications(listener, 0.1)


def works(database: Database) -> bool:
    try:
        select(database)
    except Transient:
        return False
    return True


@pytest.mark.parametrize("at_once", [False, True])
def test_a_commit_that_waits_for_a_standby_is_in_doubt_and_takes_effect_once_it_is_back(
    database: Database, unmigrated: Breakable, at_once: bool
) -> None:
    """No limit of the server may turn the wait into a commit that only looks safe."""
    url, admin = unmigrated.database_url, unmigrated.admin_url
    execute(url, "CREATE TABLE kept (n int)")
    execute(admin, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    execute(admin, "SELECT pg_reload_conf()")
    insert = text("INSERT INTO kept VALUES (1)")
    eventually(
        lambda: shown(database, "synchronous_standby_names") == "nobody", "the new configuration"
    )

    def write() -> None:
        with database.at_once() if at_once else database.begin() as connection:
            connection.execute(insert)

    assert isinstance(in_time(write, TIMEOUT), InDoubt)
    count = text("SELECT count(*) FROM kept")
    with database.begin() as connection:
        assert connection.execute(count).scalar() == 0
    execute(admin, "ALTER SYSTEM RESET synchronous_standby_names")
    execute(admin, "SELECT pg_reload_conf()")

    def arrived() -> bool:
        with database.begin() as connection:
            return connection.execute(count).scalar() == 1

    eventually(arrived, "the commit taking effect")


def shown(database: Database, name: str) -> str:
    with database.autocommit() as connection:
        return str(connection.execute(text(f"SHOW {name}")).scalar())
