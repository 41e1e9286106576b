"""The whole ring in processes of their own: a coordinator and workers that a test may kill."""

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator import history
from orchestrator.acts.submission import Submission, submit
from shared.domain.config import Policy
from shared.domain.plan import Plan
from shared.store.database import Database
from tests.services.preloaded import Preloaded, run, start

_ADDRESS = re.compile(r"^http://127\.0\.0\.1:\d+(?=\n)", re.MULTILINE)
PATIENCE = 120.0
"""Seconds after which something that should happen has not."""


def eventually(happened: Callable[[], Any], what: str, patience: float = PATIENCE) -> Any:
    """The first truthy answer; fails the test, naming what was waited for, when there is none.

    It pauses for twice as long as a look takes, at most for a second: what is looked at works
    in the meantime.
    """
    deadline = time.monotonic() + patience
    while True:
        begun = time.monotonic()
        answer = happened()
        if answer:
            return answer
        if time.monotonic() > deadline:
            pytest.fail(f"{what} did not happen within {patience:.0f} s")
        time.sleep(min(max(0.05, 2 * (time.monotonic() - begun)), 1.0))


@dataclass
class Ring:
    """Processes of the product on one database and one broker."""

    database_url: str
    broker_url: str
    folder: Path
    extra: dict[str, str] = field(default_factory=dict)
    processes: dict[str, Preloaded] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.database = Database(self.database_url)

    @property
    def environ(self) -> dict[str, str]:
        """What every process of the ring gets."""
        return {
            **os.environ,
            "REPLAN_DATABASE_URL": self.database_url,
            "REPLAN_BROKER_URL": self.broker_url,
            "REPLAN_LEASE": "3",
            "REPLAN_HEARTBEAT": "0.5",
            "REPLAN_RING_AGAIN": "1",
            "REPLAN_THREADS": "4",
            "REPLAN_DATA_DIR": str(self.folder / "data"),
            "REPLAN_CONFIG": "",
            "REPLAN_GUARD_POLICY": str(Path(__file__).with_name("open_policy.yaml")),
            **self.extra,
        }

    def coordinator(self, name: str = "coordinator") -> None:
        """Start a coordinator."""
        self._start(name, "orchestrator", "coordinator", "start")

    def worker(self, *roles: str, name: str | None = None) -> None:
        """Start a worker for some roles."""
        self._start(name or roles[0], "workers", "start", *roles)

    def gateway(self, *arguments: str) -> None:
        """Start a model gateway on a free port; the workers that start later use it."""
        self._start("gateway", "workers", "gateway", "--listen", "127.0.0.1:0", *arguments)
        found = eventually(lambda: _ADDRESS.search(self.log("gateway")), "the gateway's address")
        self.extra["REPLAN_GATEWAY_URL"] = found[0]

    def replan(self, *arguments: str, check: int | None = 0) -> subprocess.CompletedProcess[str]:
        """Run the CLI; fails the test when it does not exit with `check`."""
        environ = self.environ
        done = run("orchestrator", arguments, environ=environ, patience=PATIENCE)
        if check is not None:
            assert done.returncode == check, f"{done.args}\n{done.stdout}\n{done.stderr}"
        return done

    def submit(
        self, plan: Plan | None, *targets: str, policy: Policy | None = None, prompt: str = "p"
    ) -> int:
        """Submit a task as the CLI does."""
        return submit(
            self.database,
            Submission(prompt=prompt, targets=targets, policy=policy or Policy(), plan=plan),
        )

    def phase(self, task_id: int) -> str:
        """The phase of a task."""
        return str(self.scalar("SELECT phase FROM tasks WHERE id = :id", id=task_id))

    def ends(self, task_id: int, phase: str = "done", patience: float = PATIENCE) -> None:
        """Wait until the task is in that phase; an end in another one fails the test at once."""

        def there() -> bool:
            now = self.phase(task_id)
            if now != phase and now in {"done", "error", "cancelled", "waiting"}:
                pytest.fail(f"T{task_id} is {now}: {self.story(task_id)}")
            return now == phase

        eventually(there, f"T{task_id} becoming {phase}", patience)

    def story(self, task_id: int) -> str:
        """What the rows say of a task, for the message of a failed test."""
        rows = self.rows(
            "SELECT kind, reason FROM interventions WHERE task_id = :id ORDER BY id", id=task_id
        )
        return "; ".join(f"{row.kind}: {row.reason}" for row in rows)

    def rows(self, query: str, **values: object) -> Sequence[Any]:
        """The rows of a query."""
        with self.database.begin() as connection:
            return connection.execute(text(query), values).all()

    def scalar(self, query: str, **values: object) -> Any:
        """The first value of the first row."""
        with self.database.begin() as connection:
            return connection.execute(text(query), values).scalar()

    def kill(self, name: str) -> None:
        """End a process at once, with everything that it started."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def stop(self) -> None:
        """End every process of the ring at once; how they end when asked to has its own tests."""
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()
        self.processes.clear()
        self.database.close()

    def log(self, name: str) -> str:
        """What a process has printed."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def _start(self, name: str, package: str, *arguments: str) -> None:
        log = self.folder / f"{name}.log"
        self.processes[name] = start(package, arguments, environ=self.environ, out=log, err=log)


@pytest.fixture
def ring(database_url: str, broker_url: str, tmp_path: Path) -> Iterator[Ring]:
    """A ring with nothing started yet; ended with the test."""
    made = Ring(database_url, broker_url, tmp_path)
    yield made
    made.stop()
    database = Database(database_url)
    assert history.compare(database).divergences == (), "events do not lead to their rows"
    database.close()


@pytest.fixture
def whole_ring(ring: Ring) -> Ring:
    """A ring with a coordinator, one worker for the planning roles and one executor."""
    ring.coordinator()
    ring.worker("taskmaster", "planner", "subtask_planner", "escalation")
    ring.worker("executor")
    return ring
