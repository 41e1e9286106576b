"""What tests about lost workers begin with."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from orchestrator.acts.submission import Submission, submit
from orchestrator.coordinator import Coordinator
from orchestrator.store import SqlLedger
from shared.domain.config import Policy
from shared.store.database import Database
from tests.integration.losses.bench import Bench
from tests.journeys.plans import plan, step

HOLDER = """
import sys, threading
from shared.store import presence
from shared.store.database import Database
session = Database(sys.argv[1]).listen()
assert presence.show(session, 7)
print("present", flush=True)
threading.Event().wait()
"""


@pytest.fixture
def bench(database: Database) -> Iterator[Bench]:
    submit(database, Submission("p", ("localhost",), Policy(), plan(step(["sleep 9"]))))
    Coordinator(SqlLedger(database)).drain()
    made = Bench(database)
    yield made
    made.watch.close()


@pytest.fixture
def holder(bench: Bench) -> Iterator["subprocess.Popen[str]"]:
    """A process that shows the presence of worker 7 and does nothing else."""
    url = bench.database.url.render_as_string(hide_password=False)
    words = [sys.executable, "-c", HOLDER, url.replace("+psycopg", "")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "present\n"
        yield process
        process.kill()
