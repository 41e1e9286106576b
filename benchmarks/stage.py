"""The stage of the measurements: real services, a real coordinator, real workers, real sshd."""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import insert, text

from orchestrator.acts.submission import Submission, submit
from orchestrator.embedded.stack import Stack, run_stack
from shared.domain.author import Author, PlanningRole
from shared.domain.config import Policy
from shared.domain.host import ConnectionKind, Host
from shared.domain.plan import Plan, Recovery, Step, Subtask
from shared.store.database import Database
from shared.store.tables import HostRow
from tests.services.accounts import account_for_tests
from tests.services.sshd import SshServer, servers

PATIENCE = 300.0

SPAN = text("""
    SELECT extract(epoch FROM max(ended_at) - min(claimed_at)) FROM jobs
    WHERE task_id = ANY(:ids) AND kind = 'execute'
""")
"""Seconds from the first claim of the tasks' execution jobs to the end of the last."""


@dataclass
class Stage:
    """A family of processes and the servers it works on."""

    services: Stack
    database: Database
    sshd: Sequence[SshServer]

    def submit(self, commands: Sequence[str], *targets: str) -> int:
        """A task of one step with those commands, no checks."""
        plan = one_step(commands)
        return submit(
            self.database,
            Submission(prompt="benchmark", targets=targets, policy=Policy(), plan=plan),
        )

    def wait(self, tasks: Sequence[int]) -> None:
        """Until all of these tasks are done."""
        deadline = time.monotonic() + PATIENCE
        query = text("SELECT count(*) FROM tasks WHERE id = ANY(:ids) AND phase = 'done'")
        while self.scalar(query, ids=list(tasks)) < len(tasks):
            if time.monotonic() > deadline:
                raise TimeoutError(f"not done after {PATIENCE} s: {tasks}")
            time.sleep(0.01)

    def scalar(self, query: Any, **values: object) -> Any:
        """The first value of the first row."""
        with self.database.autocommit() as connection:
            return connection.execute(query, values).scalar()

    def pids(self) -> dict[str, int]:
        """The processes of the family."""
        return {s.name: s.pid for s in self.services.supervisor.status() if s.pid is not None}


def one_step(commands: Sequence[str]) -> Plan:
    """A plan of one step whose subtasks are these commands."""
    subtasks = tuple(
        Subtask(number, f"c{number}", command, command, needs=(f"c{number - 1}",) * (number > 1))
        for number, command in enumerate(commands, start=1)
    )
    author = Author(PlanningRole.HUMAN, "human")
    step = Step(1, "s", "benchmark", "", author, recovery=Recovery.RETRY, subtasks=subtasks)
    return Plan((step,))


@contextlib.contextmanager
def set_up(hosts: int, *sshd: str, threads: int = 16) -> Iterator[Stage]:
    """Everything up and warm, with that many enrolled hosts `h1`, `h2`, …; ended afterwards.

    `sshd` are lines for the top of each server's sshd_config.
    """
    scratch = Path(tempfile.mkdtemp(prefix="replan-bench-"))
    scratch.chmod(0o755)
    home = scratch / "home"
    home.mkdir()
    environ = {**os.environ, "REPLAN_THREADS": str(threads), "REPLAN_LOG_LEVEL": "warning"}
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, scratch, ignore_errors=True)
        account = stack.enter_context(account_for_tests(home))
        another = stack.enter_context(servers(account))
        made = [another(*sshd) for _ in range(hosts)]
        services = stack.enter_context(run_stack(scratch / "data", environ))
        database = Database(services.database_url)
        stack.callback(database.close)
        for number, server in enumerate(made, start=1):
            enrol(database, f"h{number}", server)
        stage = Stage(services, database, made)
        stage.wait([stage.submit(["true"], f"h{n}") for n in range(1, hosts + 1)])
        stage.wait([stage.submit(["true"], "localhost")])
        yield stage


def enrol(database: Database, name: str, server: SshServer) -> None:
    """Enter a server as a host."""
    with database.begin() as connection:
        connection.execute(
            insert(HostRow).values(
                name=name,
                connection=ConnectionKind.SSH.value,
                address=server.host,
                port=server.port,
                user=server.user,
                key_path=str(server.key_path),
                host_key=server.host_public_key,
            )
        )


def host_of(server: SshServer) -> Host:
    """The same server as a value."""
    return Host(
        name="bare",
        address=server.host,
        port=server.port,
        user=server.user,
        key_path=str(server.key_path),
        host_key=server.host_public_key,
    )
