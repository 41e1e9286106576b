"""What was noted about an agent at work is told once, whoever drives it on."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from orchestrator.views.attempts import attempt_view
from orchestrator.views.entries import Noted, Unreadable
from orchestrator.views.timeline import BEGINNING, Cursor, read_timeline
from shared.domain.agent import Progress, StuckStrategy
from shared.domain.attempt import Attempt
from shared.domain.attempt_notes import (
    AgentState,
    AttemptNote,
    EntryReason,
    FoundStuck,
    RunnerEntered,
    TaskValidated,
)
from shared.domain.compliance import ProtocolRule, Severity, Violation
from shared.domain.ids import Ref
from shared.domain.jobs import Job
from shared.domain.outcome import Outcome
from shared.store import attempt_notes
from shared.store.attempt_notes import NoteWrite
from shared.store.database import Database
from tests.contract.store_under_test import claim_pass
from workers.process.journal import Journal

NOW = datetime.now(UTC) - timedelta(hours=1)
ATTEMPT = Attempt("R1-1-r0-1-p1-t0", 1, 1, 0, 1, 1, 0, 1, "mend it", Outcome.OK, NOW, NOW)
ENTERED = RunnerEntered("codex", "t1", EntryReason.STUCK, "claude-code")
STUCK = FoundStuck(
    AgentState.MODEL, 301.5, 300, StuckStrategy.NOTIFY, (Progress.COMMITS,), 12, "t1"
)
JUDGED = TaskValidated(
    "s1", compliant=True, violations=(Violation(ProtocolRule.TIME_BUDGET, Severity.WARNING, "x"),)
)


@pytest.fixture
def job(database: Database) -> Job:
    """A pass in hand."""
    return claim_pass(database, "true")


@contextmanager
def journal(database: Database) -> Iterator[Journal]:
    opened = Journal(database, "worker")
    try:
        yield opened
    finally:
        opened.close()


def told(database: Database, job: Job, after: Cursor = BEGINNING) -> tuple[list[object], Cursor]:
    """What a reader of the timeline is told next about notes."""
    with database.begin() as connection:
        story = read_timeline(connection, Ref(job.task_id), after)
    found = [each for each in story.entries if isinstance(each.about, Noted)]
    assert all(str(each.ref) == f"T{job.task_id}.1.1#1@web1" for each in found)
    return [each.about.note for each in found if isinstance(each.about, Noted)], story.cursor


def test_a_note_is_on_record_before_the_attempt_ends_and_told_once(
    database: Database, job: Job
) -> None:
    attempt = replace(ATTEMPT, run_id=job.run_id or 0)
    with journal(database) as writes:
        writes.begin_attempt(job, attempt)
        writes.add_note(job, attempt.key, ENTERED).result(10)
        first, cursor = told(database, job)
        writes.add_note(job, attempt.key, STUCK).result(10)
        second, cursor = told(database, job, cursor)
        writes.add_note(job, attempt.key, JUDGED)
        writes.end_attempt(job, attempt)
    third, cursor = told(database, job, cursor)
    assert (first, second, third) == ([ENTERED], [STUCK], [JUDGED])
    assert told(database, job, cursor)[0] == []
    assert told(database, job)[0] == [ENTERED, STUCK, JUDGED]
    with database.begin() as connection:
        assert attempt_notes.of_attempt(connection, attempt.key) == (ENTERED, STUCK, JUDGED)
        view = attempt_view(connection, Ref(job.task_id, 1, 1))
    assert [each.note for each in view.attempt.notes] == [ENTERED, STUCK, JUDGED]


def test_a_late_worker_s_note_is_dropped_and_a_repeated_one_is_one(
    database: Database, job: Job
) -> None:
    attempt = replace(ATTEMPT, run_id=job.run_id or 0)
    late = replace(job, token="another")

    def note(about: Job, said: AttemptNote) -> NoteWrite:
        return NoteWrite(about.claim, attempt.key, said, NOW)

    with journal(database) as writes:
        writes.begin_attempt(job, attempt)
        writes.end_attempt(job, attempt)
    with database.begin() as connection:
        numbers = attempt_notes.reserve(connection, 2)
        attempt_notes.add(connection, numbers, [note(late, STUCK), note(job, ENTERED)])
        attempt_notes.add(connection, numbers, [note(late, STUCK), note(job, ENTERED)])
        assert attempt_notes.of_attempt(connection, attempt.key) == (ENTERED,)


def test_what_a_newer_version_has_noted_is_told_to_be_unreadable(
    database: Database, job: Job
) -> None:
    attempt = replace(ATTEMPT, run_id=job.run_id or 0)
    with journal(database) as writes:
        writes.begin_attempt(job, attempt)
        writes.add_note(job, attempt.key, ENTERED).result(10)
        writes.end_attempt(job, attempt)
    with database.begin() as connection:
        connection.execute(text("UPDATE attempt_notes SET kind = 'of_tomorrow'"))
        assert attempt_notes.of_attempt(connection, attempt.key) == ()
        story = read_timeline(connection, Ref(job.task_id))
    (entry,) = (each for each in story.entries if isinstance(each.about, Unreadable))
    assert entry.id.startswith("note-")
