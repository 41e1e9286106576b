"""A commit whose answer was lost: it happened, but nobody knows. Nothing is lost or doubled."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from sqlalchemy import text

from orchestrator.acts.submission import Submission, submit
from orchestrator.coordinator import Coordinator
from orchestrator.relay import Relay
from orchestrator.store import SqlLedger
from shared.domain.attempt import Attempt
from shared.domain.budget import Ending
from shared.domain.config import Policy
from shared.domain.errors import Transient
from shared.domain.facts import PassFinished
from shared.domain.jobs import Job, JobKind, QueueName
from shared.domain.next_step import command_line
from shared.domain.outcome import Outcome
from shared.store import attempts, jobs
from shared.store.attempts import AttemptWrite
from shared.store.database import Database, InDoubt
from tests.journeys.plans import plan, step
from tests.services.ring import eventually
from workers.process.journal import Journal
from workers.process.leases import Hold, LeaseKeeper
from workers.process.lifecycle import Lifecycle

PLAN = plan(step(["true"]), step(["true"], ordinal=2, depends_on=(1,)))


class Link:
    """A database whose connections break right after they have committed.

    `losses` times, and at one commit in `every`. A statement that writes under autocommit commits.
    """

    def __init__(self, url: str) -> None:
        self.database = Database(url)
        self.losses = 0
        self.every = 0
        self._commits = 0
        self.lost = 0
        dialect: Any = self.database.engine.dialect
        self._commit: Callable[[Any], None] = dialect.do_commit
        self._lock = threading.Lock()
        dialect.do_commit = self._do_commit
        self._execute: Callable[..., None] = dialect.do_execute
        dialect.do_execute = self._do_execute

    def _do_commit(self, connection: Any) -> None:
        self._commit(connection)
        self._on_commit(connection.dbapi_connection)

    def _do_execute(self, cursor: Any, statement: str, *rest: Any) -> None:
        self._execute(cursor, statement, *rest)
        if cursor.connection.autocommit and not statement.lstrip().startswith("SELECT"):
            self._on_commit(cursor.connection)

    def _on_commit(self, connection: Any) -> None:
        with self._lock:
            self._commits += 1
            if not self.losses and not (self.every and self._commits % self.every == 0):
                return
            self.losses = max(0, self.losses - 1)
            self.lost += 1
        connection.close()
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    def scalar(self, query: str, **values: object) -> Any:
        with self.database.begin() as connection:
            return connection.execute(text(query), values).scalar()


@pytest.fixture
def link(database_url: str) -> Iterator[Link]:
    made = Link(database_url)
    yield made
    made.database.close()


class Bell:
    """Remembers the jobs it rang for."""

    def __init__(self) -> None:
        self.rung: list[int] = []

    def ring(self, _queue: str, job_ids: Sequence[int]) -> None:
        self.rung += job_ids

    def ringing(self, _queue: str) -> int:
        return 0


def task(database: Database) -> int:
    """Submit a task of two steps."""
    return submit(database, Submission("p", ("localhost",), Policy(), PLAN))


def drain(link: Link) -> None:
    """Let a coordinator decide as often as it takes."""
    coordinator = Coordinator(SqlLedger(link.database))
    while True:
        try:
            coordinator.drain()
        except InDoubt:
            continue
        return


@contextmanager
def worker(link: Link, perform: Callable[[Hold, Journal], PassFinished]) -> Iterator[Lifecycle]:
    """The lifecycle of a worker's jobs, on that link."""
    journal = Journal(link.database, "w")
    quiet = threading.Event()
    keeper = LeaseKeeper(link.database, lease=30, heartbeat=10, beat=quiet.set)
    assert quiet.wait(10)  # what it commits for itself must not be what is lost
    try:
        yield Lifecycle(
            link.database,
            journal,
            keeper,
            owner="w",
            lease=30,
            queues=(QueueName.EXECUTION,),
            performers={JobKind.EXECUTE: lambda hold: perform(hold, journal)},
        )
    finally:
        journal.close()
        keeper.close()


def finish_pass(hold: Hold, _journal: Journal) -> PassFinished:
    return PassFinished(hold.job.step or 0, 0, hold.job.pass_no, Ending.DONE, 0)


def open_jobs(link: Link) -> list[int]:
    with link.database.begin() as connection:
        return jobs.claimable(connection, ["execution"], 10)


def test_a_commit_in_doubt_is_told_apart_from_one_that_was_refused(link: Link) -> None:
    link.losses = 1
    with pytest.raises(InDoubt), link.database.begin() as connection:
        connection.execute(text("CREATE TABLE doubted ()"))
    assert link.scalar("SELECT count(*) FROM doubted") == 0


def test_a_submission_is_put_in_once(link: Link) -> None:
    link.losses = 2
    first = task(link.database)
    second = task(link.database)
    assert link.lost == 2
    assert (first, second) == (1, link.scalar("SELECT max(id) FROM tasks"))
    assert link.scalar("SELECT count(*) FROM tasks") == 2
    assert link.scalar("SELECT count(*) FROM runs") == 2
    assert link.scalar("SELECT count(*) FROM inbox") == 2


def test_a_submission_that_stays_in_doubt_says_so(
    link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.acts.submission._PAUSES", (0.0, 0.0))
    link.losses = 10**6
    with pytest.raises(InDoubt, match="may have been submitted, or not") as caught:
        task(link.database)
    assert command_line(caught.value.next_step) == "replan task list"
    link.losses = 0
    assert link.scalar("SELECT count(*) FROM tasks") == 1


def test_a_coordinator_decides_once(link: Link) -> None:
    task_id = task(link.database)
    link.losses = 1
    drain(link)
    assert link.lost == 1
    assert link.scalar("SELECT count(*) FROM inbox") == 0
    assert link.scalar("SELECT count(*) FROM jobs") == 1
    kinds = "SELECT string_agg(kind, ' ' ORDER BY id) FROM events WHERE task_id = :id"
    assert link.scalar(kinds, id=task_id) == "TaskSubmitted RunStarted RunChanged"


def test_a_claim_is_made_once(link: Link) -> None:
    """The job does not wait for the end of an unused lease, and counts one claim."""
    task(link.database)
    drain(link)
    held: list[Job] = []

    def perform(hold: Hold, journal: Journal) -> PassFinished:
        held.append(hold.job)
        return finish_pass(hold, journal)

    (job_id,) = open_jobs(link)
    with worker(link, perform) as lifecycle:
        link.losses = 1
        assert lifecycle.carry_out(job_id)
        assert link.lost == 1
        assert not lifecycle.carry_out(job_id)
    assert [job.claims for job in held] == [1]
    drain(link)
    assert link.scalar("SELECT count(*) FROM events WHERE kind = 'PassStarted'") == 1
    assert link.scalar("SELECT count(*) FROM events WHERE kind = 'PassFinished'") == 1
    assert link.scalar("SELECT count(*) FROM events WHERE kind = 'Defect'") == 0
    assert len(open_jobs(link)) == 1


def test_a_claim_that_another_made_meanwhile_is_not_taken_from_it(link: Link) -> None:
    task(link.database)
    drain(link)
    (job_id,) = open_jobs(link)
    with link.database.begin() as connection:
        assert jobs.claim(connection, [job_id], "other", 30)
    with link.database.begin() as connection:
        assert jobs.claim(connection, [job_id], "mine", 30, again=True) == []
    with link.database.begin() as connection:
        assert jobs.claim(connection, [job_id], "other", 30) == []


def attempt(job: Job, number: int, run_id: int) -> Attempt:
    now = datetime.now(UTC)
    return Attempt(
        key=f"k{number}",
        run_id=run_id,
        step=1,
        revision=0,
        subtask=number,
        pass_no=job.pass_no,
        try_no=0,
        number=1,
        command="true",
        outcome=Outcome.OK,
        started_at=now,
        ended_at=now,
    )


def test_the_journal_writes_once(link: Link) -> None:
    """Attempts, live output and the report, whichever of the commits loses its answer."""
    task(link.database)
    drain(link)
    (job_id,) = open_jobs(link)

    def perform(hold: Hold, journal: Journal) -> PassFinished:
        runs = replace(attempt(hold.job, 9, hold.job.run_id or 0), key="k9")
        with link.database.begin() as connection:
            begun = AttemptWrite(hold.job.claim, runs, ended=False, worker="w")
            attempts.record(connection, [begun])
        link.losses = 1
        journal.add_output(hold.job, "k9", "stdout", b"live")
        journal.end_attempt(hold.job, attempt(hold.job, 1, hold.job.run_id or 0))
        journal.end_attempt(hold.job, attempt(hold.job, 2, hold.job.run_id or 0))
        return finish_pass(hold, journal)

    with worker(link, perform) as lifecycle:
        assert lifecycle.carry_out(job_id)
    assert link.lost == 1
    assert link.scalar("SELECT count(*) FROM attempts") == 3
    assert link.scalar("SELECT count(*) FROM live_output") == 1
    assert link.scalar("SELECT count(*) FROM inbox WHERE kind = 'PassFinished'") == 1
    assert link.scalar("SELECT state FROM jobs WHERE id = :id", id=job_id) == "done"


def test_what_had_begun_is_written_when_its_job_is_put_off(link: Link) -> None:
    """The next worker of the pass must know when its command started."""
    task(link.database)
    drain(link)
    (job_id,) = open_jobs(link)

    def perform(hold: Hold, journal: Journal) -> PassFinished:
        journal.begin_attempt(hold.job, attempt(hold.job, 1, hold.job.run_id or 0))
        raise Transient("the link is down", stage="connect")

    with worker(link, perform) as lifecycle:
        assert lifecycle.carry_out(job_id)
    assert link.scalar("SELECT outcome FROM attempts") == "running"
    assert link.scalar("SELECT state FROM jobs WHERE id = :id", id=job_id) == "done"


def test_a_job_given_back_is_given_back_once(link: Link) -> None:
    """Sent again after another has claimed it, the release takes nothing from that one."""
    task(link.database)
    drain(link)
    (job_id,) = open_jobs(link)
    with link.database.begin() as connection:
        (mine,) = jobs.claim(connection, [job_id], "mine", 30)
    with link.database.begin() as connection:
        assert jobs.release(connection, [mine.claim]) == {job_id}
        assert jobs.release(connection, [mine.claim]) == set()
        assert jobs.renew(connection, [mine.claim], 30) == {}
        (theirs,) = jobs.claim(connection, [job_id], "other", 30)
        assert jobs.release(connection, [mine.claim]) == set()
        assert jobs.renew(connection, [theirs.claim], 30) == {job_id: None}
    assert theirs.claims == 1  # what was given back was no worker that vanished


def test_a_bell_rung_twice_is_answered_once(link: Link) -> None:
    task(link.database)
    drain(link)
    bell = Bell()
    relay = Relay(link.database, bell, ring_again=60)
    link.losses = 1  # the note that it was rung for
    for _ in range(4):
        try:
            relay.ring_due()
        except InDoubt:
            continue
    assert link.lost == 1
    assert len(set(bell.rung)) == 1
    with worker(link, finish_pass) as lifecycle:
        assert [lifecycle.carry_out(job_id) for job_id in bell.rung].count(True) == 1


def test_a_pass_that_takes_long_is_told_before_its_end(link: Link) -> None:
    """A short one is told with its end, in the same commit; both are told once."""
    task_id = task(link.database)
    drain(link)
    told = "SELECT string_agg(kind, ' ' ORDER BY id) FROM inbox"
    seen: list[str] = []

    def await_message(hold: Hold, journal: Journal) -> PassFinished:
        eventually(lambda: link.scalar(told) == "PassStarted", "word of the pass")
        drain(link)
        seen.append(link.scalar("SELECT phase FROM run_steps WHERE step = 1"))
        return finish_pass(hold, journal)

    for perform in (await_message, finish_pass):
        with worker(link, perform) as lifecycle:
            assert lifecycle.carry_out(open_jobs(link)[0])
        drain(link)
    assert seen == ["running"]
    history = "SELECT string_agg(kind, ' ' ORDER BY id) FROM events WHERE task_id = :id"
    passes = "PassStarted PassFinished PassStarted PassFinished"
    told_all = f"TaskSubmitted RunStarted RunChanged {passes} RunChanged"
    assert link.scalar(history, id=task_id) == told_all


def test_two_coordinators_and_two_workers_on_a_bad_link(link: Link) -> None:
    """Every fourth commit loses its answer; each of 12 tasks is decided and done once."""
    tasks = [task(link.database) for _ in range(12)]
    over = threading.Event()

    def coordinate() -> None:
        while not over.wait(0.01):
            drain(link)

    def carry_out() -> None:
        with worker(link, finish_pass) as lifecycle:
            while not over.wait(0.01):
                with suppress(Transient):
                    for job_id in open_jobs(link):
                        lifecycle.carry_out(job_id)

    threads = [threading.Thread(target=work) for work in (coordinate, carry_out) * 2]
    link.every = 4
    for thread in threads:
        thread.start()
    try:
        eventually(lambda: count_done(link) == len(tasks), "the end of every task")
    finally:
        over.set()
        link.every = 0
        for thread in threads:
            thread.join()
    assert link.lost > len(tasks)
    for kind, each in (("TaskSubmitted", 1), ("PassStarted", 2), ("PassFinished", 2)):
        found = link.scalar("SELECT count(*) FROM events WHERE kind = :kind", kind=kind)
        assert found == each * len(tasks), kind
    assert link.scalar("SELECT count(*) FROM events WHERE kind = 'Defect'") == 0
    assert link.scalar("SELECT count(*) FROM jobs") == 2 * len(tasks)


def count_done(link: Link) -> int:
    """How many tasks are done; 0 if the answer was lost."""
    try:
        return int(link.scalar("SELECT count(*) FROM tasks WHERE phase = 'done'"))
    except InDoubt:
        return 0
