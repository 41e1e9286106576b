"""Accepting deliveries of one session in a queue: what each of 25, 50 and 100 costs, side by side.

python -m benchmarks.delivery_queue [COUNT …]

Each step changes a file of its own, and the repository has no checks. What is counted is what the
accepting of one delivery takes: milliseconds, scripts on the host, statements of its worker, and
milliseconds of the coordinator. None of it may grow with the queue, but for the coordinator, which
reads every step of the run.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import event, text

from orchestrator import waiting_jobs
from orchestrator.acts.submission import Submission, submit
from orchestrator.coordinator import Coordinator
from orchestrator.embedded.services import EmbeddedServices
from orchestrator.store import SqlLedger
from shared.domain.author import Author, PlanningRole
from shared.domain.config import Policy
from shared.domain.jobs import JobKind
from shared.domain.plan import Plan, Step, Subtask
from shared.domain.target import Repository
from shared.settings import load_settings
from shared.store import repositories
from shared.store.database import Database
from shared.store.migrate import upgrade
from tests.integration.workspaces.sources import Source, run_git
from workers.shells.remote.shell import RunnerShell
from workers.wiring import Worker, make_worker

COUNTS = (25, 50, 100)
_KIND = text("SELECT kind FROM jobs WHERE id = :id")
_STATE = text("SELECT accepted, phase FROM runs")


@dataclass
class Costs:
    """What was spent on accepting."""

    seconds: dict[str, float] = field(default_factory=lambda: {"worker": 0.0, "coordinator": 0.0})
    calls: int = 0
    statements: int = 0
    judged: int = 0
    counts: bool = False

    def call(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Count the calls of a shell."""

        def counted(*given: Any, **more: Any) -> Any:
            self.calls += self.counts
            return run(*given, **more)

        return counted

    def statement(self, *_: Any) -> None:
        """Count a statement."""
        self.statements += self.counts


def _step(number: int) -> Step:
    author = Author(PlanningRole.HUMAN, "human")
    write = Subtask(1, "write", "write", f"echo {number} > file{number}")
    return Step(number, f"s{number}", f"step {number}", "", author, subtasks=(write,))


def measure(url: str, place: Path, count: int) -> Costs:
    """Deliver that many files, and accept them."""
    environ = os.environ | {
        "REPLAN_DATABASE_URL": url,
        "REPLAN_BROKER_URL": "redis://127.0.0.1:1/0",
        "REPLAN_DATA_DIR": str(place / "data"),
        "REPLAN_WORKSPACES": str(place / "workspaces"),
    }
    source = Source.at(place / "source", readme="hello\n")
    run_git(place, "init", "--quiet", "--bare", str(place / "remote.git"))
    database = Database(url)
    repository = Repository(
        "app", "localhost", str(source.folder), remote=str(place / "remote.git")
    )
    with database.begin() as connection:
        repositories.save(connection, repository)
    worker = make_worker(load_settings(environ), ["all"])
    policy = Policy(deliver=True, checkpoint="manual")
    submit(
        database,
        Submission("Do it", ("app",), policy, Plan(tuple(map(_step, range(1, count + 1))))),
    )
    costs = Costs()
    event.listen(worker.database.engine, "before_cursor_execute", costs.statement)
    inner, RunnerShell.run = RunnerShell.run, costs.call(RunnerShell.run)  # type: ignore[method-assign]
    try:
        _carry_on(database, worker, costs)
        with database.begin() as connection:
            accepted = connection.execute(_STATE).one().accepted
        assert accepted == count, f"{accepted} of {count} accepted"
    finally:
        RunnerShell.run = inner  # type: ignore[method-assign]
        worker.close()
        database.close()
    return costs


def _carry_on(database: Database, worker: Worker, costs: Costs) -> None:
    coordinator = Coordinator(SqlLedger(database))
    while True:
        began = time.perf_counter()
        coordinator.drain()
        costs.seconds["coordinator"] += (time.perf_counter() - began) * bool(costs.judged)
        with database.begin() as connection:
            due = waiting_jobs.waiting(connection, ring_again=0)
            kinds = {job.id: connection.execute(_KIND, {"id": job.id}).scalar_one() for job in due}
        if not due:
            return
        for job in due:
            costs.counts = kinds[job.id] == JobKind.ACCEPT
            began = time.perf_counter()
            worker.lifecycle.carry_out(job.id)
            if costs.counts:
                costs.judged += 1
                costs.seconds["worker"] += time.perf_counter() - began
        costs.counts = False


def main(counts: tuple[int, ...]) -> None:
    """Measure, and say it."""
    print("deliveries  judged  ms worker  ms coordinator  scripts  statements   (each accepted)")
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            with EmbeddedServices(place / "services", durable=False) as services:
                upgrade(services.database_url)
                costs = measure(services.database_url, place, count)
        worker, coordinator = (
            1000 * costs.seconds[each] / count for each in ("worker", "coordinator")
        )
        print(
            f"{count:10}{costs.judged:8}{worker:11.0f}{coordinator:16.1f}"
            f"{costs.calls / count:9.1f}{costs.statements / count:12.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or COUNTS)
