"""Live output stands in the database only for as long as its attempt runs."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from orchestrator.coordinator import Coordinator
from orchestrator.views.timeline import BEGINNING, Cursor, read_timeline
from orchestrator.words.kinds import MessageKind
from orchestrator.words.messages import messages_of
from shared.domain.attempt import Attempt
from shared.domain.budget import Ending
from shared.domain.errors import Defect
from shared.domain.facts import PassFinished, PassStarted
from shared.domain.ids import Ref
from shared.domain.jobs import Job
from shared.domain.outcome import Outcome
from shared.domain.preview import Preview
from shared.store import attempts, inbox, jobs
from shared.store.attempts import AttemptWrite, OutputWrite
from shared.store.database import Database
from tests.contract.store_under_test import SqlUnderTest, claim_pass
from tests.services.ring import eventually
from workers.process.journal import Journal

NOW = datetime.now(UTC)
ATTEMPT = Attempt("R1-1-r0-1-p1-t0", 1, 1, 0, 1, 1, 0, 1, "true", Outcome.OK, NOW, NOW)


@pytest.fixture
def job(database: Database) -> Job:
    """A pass in hand."""
    return claim_pass(database, "true")


def write(database: Database, job: Job, *, ended: bool) -> None:
    """Record the attempt as it is."""
    attempt = replace(ATTEMPT, run_id=job.run_id or 0)
    with database.begin() as connection:
        attempts.record(connection, [AttemptWrite(job.claim, attempt, ended, "worker")])


def say(database: Database, job: Job, *lines: bytes) -> list[str]:
    """Append output; all that stands there then."""
    with database.begin() as connection:
        numbers = attempts.reserve_output(connection, len(lines))
        pieces = [OutputWrite(job.claim, ATTEMPT.key, "stdout", line) for line in lines]
        attempts.append_output(connection, numbers, pieces)
    return stands(database)


def test_output_stands_in_order_while_the_attempt_runs(database: Database, job: Job) -> None:
    write(database, job, ended=False)
    assert say(database, job, b"one", b"two") == ["one", "two"]


def test_what_a_late_worker_says_of_an_ended_attempt_is_left_out(
    database: Database, job: Job
) -> None:
    """Nobody would remove it: who ended the attempt has removed what there was."""
    write(database, job, ended=False)
    write(database, job, ended=True)
    assert say(database, job, b"late") == []


def test_whoever_drives_an_attempt_to_its_end_removes_what_another_wrote(
    database: Database, job: Job
) -> None:
    """The one before may have been killed, or the output may have ended with it."""
    write(database, job, ended=False)
    assert say(database, job, b"from the one before") != []
    with database.begin() as connection:
        jobs.release(connection, [job.claim])
        (again,) = jobs.claim(connection, [job.id], "another", 30)
    journal = Journal(database, "another")
    journal.end_attempt(again, replace(ATTEMPT, run_id=job.run_id or 0))
    journal.close()
    assert stands(database) == []


def test_output_that_is_just_being_written_is_removed_with_the_rest(
    database: Database, job: Job
) -> None:
    """Whoever ends the attempt waits for it, and removes it then."""
    write(database, job, ended=False)
    with ThreadPoolExecutor(1) as pool, database.begin() as late:
        attempts.append_output(
            late, [10**9], [OutputWrite(job.claim, ATTEMPT.key, "stdout", b"late")]
        )
        end = pool.submit(end_and_drop, database, job)
        eventually(lambda: waits_for_a_lock(database), "the end to wait for the output")
        late.commit()
        end.result()
    assert stands(database) == []


def end_and_drop(database: Database, job: Job) -> None:
    """As a journal does it."""
    attempt = replace(ATTEMPT, run_id=job.run_id or 0)
    with database.begin() as connection:
        attempts.record(connection, [AttemptWrite(job.claim, attempt, True, "worker")])
        attempts.drop_output(connection, [attempt.key])


def waits_for_a_lock(database: Database) -> bool:
    """Whether some statement does."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with database.begin() as connection:
        return bool(connection.execute(text(query)).scalar())


def stands(database: Database) -> list[str]:
    """All live output that is there."""
    with database.begin() as connection:
        return list(connection.execute(text("SELECT text FROM live_output ORDER BY id")).scalars())


def test_no_attempt_is_told_before_the_beginning_of_its_pass(database: Database, job: Job) -> None:
    """A worker writes both at once, but what has begun passes through a coordinator first."""
    ref = Ref(job.task_id)
    now = datetime.now(UTC)
    done = replace(ATTEMPT, run_id=job.run_id or 0, started_at=now, ended_at=now)
    with database.begin() as connection:
        attempts.record(connection, [AttemptWrite(job.claim, done, True, "worker")])
    kinds, cursor = read_messages(database, ref)
    assert MessageKind.SUBTASK not in kinds
    with database.begin() as connection:
        fact = PassStarted(1, 0, job.pass_no)
        inbox.send_dated(connection, [((job.task_id, job.run_id, fact), 5.0)])
    Coordinator(SqlUnderTest(database).ledger).drain()
    kinds, cursor = read_messages(database, ref, cursor)
    assert kinds == [MessageKind.STEP_STARTED, MessageKind.SUBTASK]
    assert read_messages(database, ref, cursor)[0] == []


def read_messages(
    database: Database, ref: Ref, after: Cursor = BEGINNING
) -> tuple[list[MessageKind], Cursor]:
    """The kinds of the messages that are new, in their order, and where the next ones begin."""
    with database.begin() as connection:
        story = read_timeline(connection, ref, after)
    return [message.kind for message in messages_of(story.entries)], story.cursor


def test_who_drives_an_attempt_on_keeps_what_let_it_run(database: Database, job: Job) -> None:
    """A rule has seen its effects before it began; whoever waits for its end has not."""
    seen = Preview(exit_code=0)
    begun = replace(ATTEMPT, run_id=job.run_id or 0, rule="effects: sed -i", preview=seen)
    resumed = replace(ATTEMPT, run_id=job.run_id or 0)
    with database.begin() as connection:
        attempts.record(connection, [AttemptWrite(job.claim, begun, False, "worker")])
        attempts.record(connection, [AttemptWrite(job.claim, resumed, True, "successor")])
        (row,) = connection.execute(
            text("SELECT rule, preview->>'exit_code', worker FROM attempts")
        )
    assert tuple(row) == ("effects: sed -i", "0", "successor")


def test_what_a_host_calls_text_and_is_none_is_recorded_all_the_same(
    database: Database, job: Job
) -> None:
    """The records of a host are read as they are, whoever wrote them."""
    broken = replace(
        ATTEMPT,
        run_id=job.run_id or 0,
        command="echo \udcff\x00",
        correction="\ud800",
        reason="not \udc80 text",
    )
    with database.begin() as connection:
        attempts.record(connection, [AttemptWrite(job.claim, broken, True, "worker")])
        row = connection.execute(text("SELECT command, correction, reason FROM attempts")).one()
    assert tuple(row) == ("echo \\udcff\\x00", "\\ud800", "not \\udc80 text")


def test_a_journal_outlives_what_cannot_be_written(database: Database, job: Job) -> None:
    """Whoever waits for it is told, and what comes next is written."""
    journal = Journal(database, "worker")
    done = PassFinished(1, 0, 1, Ending.DONE, 0)
    with pytest.raises(Defect):
        journal.report(replace(job, task_id=2**63), done).result(20)
    assert journal.report(job, done).result(20)
    journal.close()
