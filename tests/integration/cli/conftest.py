"""The command line on a database of its own, with a coordinator beside it when asked for."""

import os
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from orchestrator import history, waiting_jobs
from orchestrator.coordinator import Coordinator
from orchestrator.probes import worker as probes
from orchestrator.store import SqlLedger
from shared.settings import load_settings
from shared.store.database import DOORBELL, REPORTS, Database
from tests.integration.cli.calling import Cli
from tests.services import preloaded
from tests.services.presences import attended
from workers.shells import snapshot
from workers.wiring import Worker, make_worker


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment that says nothing: its home, where no `replan up` runs."""
    for name in ("REPLAN_DATABASE_URL", "REPLAN_BROKER_URL", "REPLAN_DATA_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("REPLAN_CONFIG", "")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """What commands leave behind, outside of everything that is tested."""
    return tmp_path / "ledger"


@pytest.fixture(autouse=True)
def preloaded_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Worker processes that are asked about hosts begin with their modules loaded."""

    def run_worker(
        words: Sequence[str], given: str, patience: float, environ: Mapping[str, str] | None
    ) -> subprocess.CompletedProcess[str]:
        environ = os.environ if environ is None else environ
        return preloaded.run("workers", words, environ=environ, given=given, patience=patience)

    monkeypatch.setattr(probes, "run_worker", run_worker)


@pytest.fixture
def cli(
    bare: Path,  # noqa: ARG001 - the environment is its purpose
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> Iterator[Cli]:
    """The command line on a fresh database."""
    monkeypatch.setenv("REPLAN_DATABASE_URL", database_url)
    with closing(Database(database_url)) as database:
        yield Cli(database, capsys)
        if request.node.get_closest_marker("changes_rows") is None:
            divergences = history.compare(database).divergences
            assert divergences == (), "events do not lead to their rows"


@pytest.fixture
def coordinated(cli: Cli) -> Iterator[Cli]:
    """The same, and a coordinator folds in what is reported."""
    coordinator = Coordinator(SqlLedger(cli.database))
    with turning(cli.database, REPORTS, coordinator.drain):
        yield cli


@pytest.fixture
def served(cli: Cli) -> Iterator[None]:
    """A coordinator and a worker of every role are connected, and do nothing."""
    with attended(cli.database):
        yield


@contextmanager
def turning(
    database: Database, channel: str, turn: Callable[[], int], times: int = 1
) -> Iterator[None]:
    """Threads that take turns until one finds nothing to do, and again when the channel calls.

    What nobody calls for, as a delay that is over, waits 0.1 s at most.
    """
    stop = threading.Event()

    def take_turns() -> None:
        with database.listen(channel) as listener:
            while not stop.is_set():
                if turn():
                    stop.wait(0.01)
                else:
                    database.notifications(listener, 0.1)

    threads = [threading.Thread(target=take_turns) for _ in range(times)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.fixture
def short_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the evidence a worker looks at hosts no longer than to tell what they are."""
    needed = {name: snapshot.PROBES[name] for name in ("os", "platform")}
    monkeypatch.setattr(snapshot, "PROBES", needed)


@pytest.fixture
def worker_environ() -> dict[str, str]:
    """What the environment of the worker has beside what it needs."""
    return {}


@pytest.fixture
def working(
    coordinated: Cli, database_url: str, bare: Path, worker_environ: dict[str, str]
) -> Iterator[Cli]:
    """The same, and a worker of every role carries out what is asked, without a broker."""
    environ = {"HOME": str(bare), "REPLAN_DATABASE_URL": database_url, **worker_environ}
    with at_work(environ):
        yield coordinated


@contextmanager
def at_work(environ: dict[str, str], hands: int = 1, role: str = "all") -> Iterator[Worker]:
    """A worker, of every role if none is named, which carries out what is due.

    It does as many jobs at a time as it has `hands`.
    """
    broker = {"REPLAN_BROKER_URL": "redis://127.0.0.1:1/0"}
    worker = make_worker(load_settings(environ | broker), [role])

    def work() -> int:
        with worker.database.begin() as connection:
            due = waiting_jobs.waiting(connection, ring_again=0)
        for job in due[:1]:
            worker.lifecycle.carry_out(job.id)
        return len(due)

    # Standard output is the command line's.
    with closing(worker), capture_logs(), turning(worker.database, DOORBELL, work, hands):
        yield worker


@pytest.fixture
def hosts(cli: Cli) -> list[str]:
    """Two hosts; both are folders of this machine in truth."""
    with cli.database.begin() as connection:
        for name in ("one", "two"):
            connection.execute(
                text(
                    "INSERT INTO hosts (name, connection, address, port)"
                    " VALUES (:name, 'local', '127.0.0.1', 22)"
                ),
                {"name": name},
            )
    return ["one", "two"]
