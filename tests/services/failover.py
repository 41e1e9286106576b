"""A Postgres that fails over to a copy of an earlier moment: what was committed since is lost."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from orchestrator.embedded.postgres import EmbeddedPostgres, folder_of_binaries
from orchestrator.embedded.services import start
from orchestrator.embedded.supervisor import Supervisor
from tests.services.databases import migrate, plain


@dataclass
class FailingOver:
    """A server in `folder`; `copy` takes a copy of it, and `fail_over` promotes the last one."""

    folder: Path
    supervisor: Supervisor
    copies: list[EmbeddedPostgres] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.server = EmbeddedPostgres(self.folder / "first", durable=False)
        start(self.supervisor, self.server)
        self.server.create_database()
        self.url = self.server.admin_url()
        migrate(self.url)

    def copy(self) -> None:
        """Take a base backup of what is committed now."""
        parts = urlsplit(plain(self.url))
        folder = self.folder / f"copy-{len(self.copies)}"
        folder.mkdir()
        (folder / "password").write_text(parts.password or "")
        backup = [
            str(folder_of_binaries() / "pg_basebackup"),
            *("-h", str(parts.hostname), "-p", str(parts.port), "-U", str(parts.username)),
            *("-D", str(folder / "cluster"), "-c", "fast", "-X", "stream", "--no-sync"),
        ]
        subprocess.run(backup, check=True, env={"PGPASSWORD": parts.password or "", "LC_ALL": "C"})
        (folder / "cluster" / "standby.signal").touch()
        self.copies.append(EmbeddedPostgres(folder, parts.port, durable=False))

    def fail_over(self) -> None:
        """End the server and promote the copy, at the same address."""
        self.supervisor.remove("postgres")
        self.server = self.copies.pop()
        self.supervisor.add(self.server.child())
        with psycopg.connect(plain(self.url), autocommit=True) as connection:
            connection.execute("SELECT pg_promote()")


@contextmanager
def failing_over() -> Iterator[FailingOver]:
    """A migrated database on a server of its own."""
    with tempfile.TemporaryDirectory(prefix="replan-failover-") as folder:
        logs = Path(folder, "logs")
        with Supervisor(logs) as supervisor:
            yield FailingOver(Path(folder), supervisor)


@pytest.fixture
def failover() -> Iterator[FailingOver]:
    """The server of one test."""
    with failing_over() as server:
        yield server
