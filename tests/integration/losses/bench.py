"""A job with a lease, and the watch of a coordinator whose clock is the test's own."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import text

from orchestrator.coordinator import Coordinator
from orchestrator.presence_watch import SETTLING, PresenceWatch
from orchestrator.store import SqlLedger
from shared.domain.jobs import Job
from shared.store import jobs, presence
from shared.store.database import Database
from tests.services.ring import eventually

LONG = 600.0
"""A lease that does not run out, and a heartbeat that comes only once, during a test."""

OWNER = "executor.7@web1/abcd1234.00000000"
EVENTS = "SELECT body FROM events WHERE kind = 'WorkerLost' ORDER BY id"
LEASED = "SELECT lease_until > clock_timestamp() FROM jobs WHERE id = 1"


@dataclass
class Bench:
    """A database with one job of one pass, and the watch of a coordinator with a clock of ours."""

    database: Database
    time: float = 0.0
    oldest: float = 0.0
    bells: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.watch = self.new_watch()

    def new_watch(self, database: Database | None = None) -> PresenceWatch:
        """A watch by the clock of this test, which takes every session for `oldest` s old."""
        return PresenceWatch(
            database or self.database, now=lambda: self.time, oldest=lambda _: self.oldest
        )

    def claim(self, number: int | None = 7, lease: float = LONG) -> Job:
        """Claim the job as the worker with that number."""
        with self.database.begin() as connection:
            (job,) = jobs.claim(connection, [1], OWNER, lease, presence=number)
        return job

    def renew(self, job: Job, number: int | None = 7) -> bool:
        """Renew its lease."""
        with self.database.begin() as connection:
            return job.id in jobs.renew(connection, [job.claim], LONG, number)

    def settle(self) -> None:
        """Look until the watch has seen enough to judge."""
        self.look(0.0, SETTLING)

    def look(self, *pauses: float) -> None:
        """Look after each of these pauses."""
        for pause in pauses:
            self.time += pause
            self.watch.look()

    def decide(self) -> None:
        """Let the coordinator decide about what was reported."""
        Coordinator(SqlLedger(self.database)).drain()

    def rows(self, query: str, **values: object) -> Sequence[Any]:
        """The rows of a query."""
        with self.database.begin() as connection:
            return connection.execute(text(query), values).all()

    def leased(self) -> bool:
        """Whether somebody has a lease of the job."""
        return bool(self.rows(LEASED)[0][0])

    def told(self) -> list[str]:
        """How the losses in the history showed."""
        return [row.body["sign"] for row in self.rows(EVENTS)]

    def ring(self, _queue: str, job_ids: Sequence[int]) -> None:
        """Be the bell of a relay."""
        self.bells += job_ids

    def ringing(self, _queue: str) -> int:
        """No message waits."""
        return 0


@contextmanager
def present(database: Database, number: int) -> Iterator[None]:
    """A session of the worker with that number."""
    with database.listen() as session:
        assert presence.show(session, number)
        yield


def seen(database: Database) -> set[int] | None:
    """Who is present."""
    with database.listen() as session:
        return presence.seen(session)


def gone(bench: Bench) -> None:
    """Wait until nobody is present: the server needs a moment to end a session."""
    eventually(lambda: seen(bench.database) == set(), "the end of the session")
