"""Sessions, from the plan to the remote, over a repository on this machine."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from sqlalchemy import text

from orchestrator import waiting_jobs
from orchestrator.acts.submission import Submission, submit
from orchestrator.coordinator import Coordinator
from orchestrator.store import SqlLedger
from shared.domain.config import Policy
from shared.domain.plan import Step
from shared.domain.target import Repository
from shared.settings import load_settings
from shared.store import repositories
from shared.store.database import Database
from tests.integration.workspaces.sources import Source, run_git
from tests.journeys.plans import plan, step
from workers.wiring import Worker, make_worker

POLICY = Policy(deliver=True, auto_correction_enabled=False, max_transient_failures=0)


@dataclass
class Sessions:
    """A coordinator and a worker, driven by hand, over a repository with a bare remote."""

    database: Database
    worker: Worker
    source: Source
    remote: Path

    def submit(self, *steps: Step, policy: Policy = POLICY) -> int:
        """Submit a task on the repository; returns its number."""
        return submit(self.database, Submission("Do it", ("app",), policy, plan(*steps)))

    def carry_on(self) -> None:
        """Run until nothing is left to do."""
        coordinator = Coordinator(SqlLedger(self.database))
        while True:
            coordinator.drain()
            with self.database.begin() as connection:
                due = waiting_jobs.waiting(connection, ring_again=0)
            if not due:
                return
            for job in due:
                self.worker.lifecycle.carry_out(job.id)

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """The rows of a query."""
        with self.database.begin() as connection:
            return [tuple(row) for row in connection.execute(text(query))]

    def phases(self) -> list[object]:
        """The phases of the steps, in order, with what they wait for or why they are there."""
        return [row[0] for row in self.rows("SELECT phase FROM run_steps ORDER BY step")]

    def problems(self) -> list[tuple[object, ...]]:
        """What waits for a person."""
        return self.rows("SELECT kind, step, reason FROM interventions WHERE closed_at IS NULL")

    def published(self, branch: str, path: str) -> str:
        """A file on the remote."""
        return run_git(self.remote, "show", f"{branch}:{path}")


@pytest.fixture
def sessions(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Sessions]:
    """One repository, checked by a command that counts its Python files."""
    environ = {
        "HOME": str(tmp_path / "home"),
        "REPLAN_DATABASE_URL": database_url,
        "REPLAN_BROKER_URL": "redis://127.0.0.1:1/0",
        "REPLAN_DATA_DIR": str(tmp_path / "data"),
        "REPLAN_WORKSPACES": str(tmp_path / "workspaces"),
    }
    (tmp_path / "home").mkdir()
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    source = Source.at(tmp_path / "source", readme="hello\n", code="print(1)\n")
    remote = tmp_path / "remote.git"
    run_git(tmp_path, "init", "--quiet", "--bare", str(remote))
    database = Database(database_url)
    repository = Repository(
        "app", "localhost", str(source.folder), checks=("test ! -e broken",), remote=str(remote)
    )
    with database.begin() as connection:
        repositories.save(connection, repository)
    worker = make_worker(load_settings(environ), ["all"])
    yield Sessions(database, worker, source, remote)
    worker.close()
    database.close()


def writing(name: str, content: str, *, ordinal: int = 1, needs: tuple[int, ...] = ()) -> Step:
    """A step that writes a file by a command."""
    made = step(
        [f"echo '{content}' > {name}"], ordinal=ordinal, check=f"grep -q '{content}' {name}"
    )
    return replace(made, depends_on=needs)


def test_two_steps_side_by_side_end_on_the_remote(sessions: Sessions) -> None:
    """S2.17: done is delivered, accepted and checkpointed."""
    sessions.submit(writing("one", "1"), writing("two", "2", ordinal=2))
    sessions.carry_on()
    told = sessions.rows("SELECT step, phase, reason FROM run_steps ORDER BY step")
    assert [row[1] for row in told] == ["done", "done"], (told, sessions.problems())
    branch = "session/T1"
    assert sessions.published(branch, "one") == "1"
    assert sessions.published(branch, "two") == "2"
    assert sessions.rows("SELECT status FROM deliveries") == [("checkpointed",)] * 2
