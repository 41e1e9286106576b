"""The journal: one thread per process writes the reports of all its passes, in batches.

While one batch is being committed, the next one fills up, so commits stay cheap however many passes
run at once. Every write carries the claim of its job. If a write is refused, another worker has the
job, and the pass is told to stop. It is told the same if the database has lost what was written
before: the job is released, and the next driver finds all of it on the host.
"""

import threading
from collections.abc import Collection, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from time import monotonic
from typing import Any

import structlog

from shared.domain.attempt import Attempt
from shared.domain.attempt_notes import AttemptNote
from shared.domain.errors import Misconfigured, Transient
from shared.domain.facts import Fact
from shared.domain.jobs import Claim, Job
from shared.store import attempt_notes, attempts, inbox, jobs
from shared.store.attempt_notes import NoteWrite
from shared.store.attempts import AttemptWrite, OutputWrite
from shared.store.database import Database
from workers import provenance
from workers.provenance import Left

log = structlog.get_logger()

_BEGUN_AFTER = 0.2
"""Seconds that an attempt must last before its start is written separately."""

_LINGER = 0.1
"""Seconds that an ended attempt may wait so that others share its commit."""

_APART = 0.01
"""The minimum of seconds between two commits: ends that come close together share one."""

_OUTPUT_EVERY = 0.3
"""Seconds between two writes of live output."""

_RETRY_PAUSE = 0.2
_LONGEST_PAUSE = 2.0


@dataclass(slots=True)
class _Batch:
    records: dict[str, AttemptWrite] = field(default_factory=dict)
    chunks: list[OutputWrite] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    notes: list[tuple[NoteWrite, "Future[None]"]] = field(default_factory=list)
    note_numbers: list[int] = field(default_factory=list)
    started: list[tuple[Job, Fact, float]] = field(default_factory=list)
    reports: list[tuple[Job, Fact, "Future[bool]"]] = field(default_factory=list)
    given_back: list[tuple[Job, "Future[bool]"]] = field(default_factory=list)
    dropped: set[str] = field(default_factory=set)
    left: list[Left] = field(default_factory=list)

    due: float = inf

    def __bool__(self) -> bool:
        return bool(
            self.records
            or self.chunks
            or self.notes
            or self.started
            or self.reports
            or self.given_back
            or self.dropped
        )


class Journal:
    """Writes attempts, live output and reports of all passes of this process."""

    def __init__(self, database: Database, worker: str) -> None:
        self._database = database
        self._worker = worker
        self._changed = threading.Condition()
        self._urgent = _Batch()
        self._begun: dict[str, tuple[float, AttemptWrite]] = {}
        self._started: dict[Claim, tuple[float, Job, Fact]] = {}
        self._chunks: list[OutputWrite] = []
        self._output_due = 0.0
        self._with_output: set[str] = set()
        self._refused: set[Claim] = set()
        self._forgotten: set[Claim] = set()
        self._last: dict[Claim, str] = {}
        self._left: dict[Claim, Left] = {}
        self._closing = False
        self._sleeps_until = 0.0
        self._written = 0.0
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    def begin_job(self, job: Job, fact: Fact) -> None:
        """A job has started. This is written with its first record, or soon by itself."""
        with self._changed:
            due = monotonic() + _BEGUN_AFTER
            self._started[job.claim] = (due, job, fact)
            self._wake_by(due)

    def leave(self, job: Job, left: Left) -> None:
        """Note what a job may leave on its host; it is written with its first record."""
        with self._changed:
            self._left[job.claim] = left

    def begin_attempt(self, job: Job, attempt: Attempt, *, at_once: bool = False) -> None:
        """An attempt has started. Only a long one is written now, so a short one costs one row.

        One that others may have to end is written `at_once`.
        """
        entry = AttemptWrite(job.claim, attempt, ended=False, worker=self._worker)
        with self._changed:
            due = monotonic() + (0.0 if at_once else _BEGUN_AFTER)
            self._begun[attempt.key] = (due, entry)
            self._wake_by(due)

    def add_output(self, job: Job, key: str, stream: str, data: bytes) -> None:
        """Add live output of an attempt; it is written while the attempt runs."""
        with self._changed:
            self._chunks.append(OutputWrite(job.claim, key, stream, data))
            if key not in self._begun:
                self._wake_by(self._output_due)

    def add_note(self, job: Job, key: str, note: AttemptNote) -> "Future[None]":
        """Add a note on an attempt that has begun; resolves once it is written.

        It is dropped if the job is no longer ours.
        """
        future: Future[None] = Future()
        entry = NoteWrite(job.claim, key, note, datetime.now(UTC))
        with self._changed:
            if begun := self._begun.pop(key, None):
                self._urgent.records.setdefault(key, begun[1])
            self._urgent.notes.append((entry, future))
            self._urgent.due = self._written + _APART
            self._wake_by(self._urgent.due)
        return future

    def end_attempt(self, job: Job, attempt: Attempt) -> None:
        """An attempt has ended."""
        key = attempt.key
        entry = AttemptWrite(job.claim, attempt, ended=True, worker=self._worker)
        with self._changed:
            self._begun.pop(key, None)
            self._urgent.records[key] = entry
            self._urgent.due = min(self._urgent.due, monotonic() + _LINGER)
            if self._chunks:
                self._chunks = [chunk for chunk in self._chunks if chunk.key != key]
            if key in self._with_output or job.resumed:
                self._with_output.discard(key)
                self._urgent.dropped.add(key)
            self._wake_by(self._urgent.due)

    def report(self, job: Job, fact: Fact) -> "Future[bool]":
        """End the job with its fact; resolves to False if the job is no longer ours."""
        future: Future[bool] = Future()
        with self._changed:
            self._write_begun_of(job)
            self._urgent.reports.append((job, fact, future))
            self._urgent.due = self._written + _APART
            self._wake_by(self._urgent.due)
        return future

    def give_back(self, job: Job) -> "Future[bool]":
        """Release an unfinished job after everything about it is written.

        Resolves to False if the job is no longer ours. Another worker may claim it at once.
        """
        future: Future[bool] = Future()
        with self._changed:
            self._write_begun_of(job)
            self._urgent.given_back.append((job, future))
            self._urgent.due = self._written + _APART
            self._wake_by(self._urgent.due)
        return future

    def is_refused(self, job: Job) -> bool:
        """Whether a write for this job was refused: another worker has it, or is to have it."""
        return job.claim in self._refused

    def forget(self, job: Job) -> None:
        """Forget a job that this process no longer holds."""
        with self._changed:
            self._refused.discard(job.claim)
            self._forgotten.discard(job.claim)
            self._last.pop(job.claim, None)
            self._started.pop(job.claim, None)
            self._left.pop(job.claim, None)

    def close(self) -> None:
        """Write everything that is pending, then stop."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._await_something()
                group = self._take()
                if not group and self._closing:
                    return
            self._write_until_done(group)
            self._written = monotonic()

    def _await_something(self) -> None:
        """Wait until something is due to be written."""
        while not self._closing:
            due = self._next_due()
            pause = due - monotonic()
            if pause <= 0:
                return
            self._sleeps_until = due
            self._changed.wait(None if due == inf else pause)
            self._sleeps_until = 0.0

    def _write_begun_of(self, job: Job) -> None:
        """Write started attempts while the fence is valid: the next worker must learn of them."""
        for key, (_, entry) in list(self._begun.items()):
            if entry.claim == job.claim:
                self._urgent.records.setdefault(key, entry)
                del self._begun[key]

    def _wake_by(self, due: float) -> None:
        """Wake the thread only if it would otherwise sleep past that time."""
        if due < self._sleeps_until:
            self._changed.notify()

    def _next_due(self) -> float:
        due = min((due for due, _ in self._begun.values()), default=inf)
        due = min((due, *(when for when, _, _ in self._started.values())))
        if any(chunk.key not in self._begun for chunk in self._chunks):
            due = min(due, self._output_due)
        return min(due, self._urgent.due)

    def _take(self) -> _Batch:
        group, self._urgent = self._urgent, _Batch()
        now = monotonic()
        for key, (due, entry) in list(self._begun.items()):
            if due <= now:
                group.records.setdefault(key, entry)
                del self._begun[key]
        told_of = {entry.claim for entry in group.records.values()}
        told_of |= {job.claim for job, _, _ in group.reports}
        group.left += [self._left.pop(claim) for claim in told_of & self._left.keys()]
        for place, (due, job, fact) in list(self._started.items()):
            if due <= now or place in told_of:
                group.started.append((job, fact, due - _BEGUN_AFTER))
                del self._started[place]
        if now >= self._output_due:
            group.chunks = [chunk for chunk in self._chunks if chunk.key not in self._begun]
            self._chunks = [chunk for chunk in self._chunks if chunk.key in self._begun]
            self._with_output.update(chunk.key for chunk in group.chunks)
            self._output_due = now + _OUTPUT_EVERY
        return group

    def _write_until_done(self, group: _Batch) -> None:
        pause = _RETRY_PAUSE
        while True:
            try:
                self._write(group)
            except (Transient, Misconfigured) as error:
                log.warning("journal_waiting", reason=error.reason)
                with self._changed:
                    if self._closing:
                        return _fail(group, error)
                    self._changed.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            except Exception as error:  # if this thread ended, the process could report nothing
                log.exception("journal_failed")
                self._note_refusals(group.records.values())
                return _fail(group, error)
            else:
                return None

    def _write(self, group: _Batch) -> None:
        """Write a batch in one commit; safe to repeat.

        If an earlier try was committed after all, nothing is written twice: its jobs are no longer
        open, its attempts have keys, and its live output has numbers.
        """
        records = list(group.records.values())
        with self._database.begin() as connection:
            written = attempts.record(connection, records, self._last)
            provenance.remember(connection, group.left)
            unsaid = self._last_before(group)
            self._note_forgotten(group, written, attempts.missing(connection, unsaid))
            if len(group.numbers) < len(group.chunks):
                group.numbers = attempts.reserve_output(connection, len(group.chunks))
            attempts.append_output(connection, group.numbers, group.chunks)
            if len(group.note_numbers) < len(group.notes):
                group.note_numbers = attempt_notes.reserve(connection, len(group.notes))
            notes = [note for note, _ in group.notes]
            attempt_notes.add(connection, group.note_numbers, notes)
            attempts.drop_output(connection, sorted(group.dropped))
            ending = [j.claim for j, _, _ in group.reports if j.claim not in self._forgotten]
            begun = [job.claim for job, _, _ in group.started]
            held = jobs.held_ids(connection, [claim for claim in begun if claim not in ending])
            ours = jobs.finish(connection, ending)
            told = [
                ((job.task_id, job.run_id, fact), monotonic() - since)
                for job, fact, since in group.started
                if job.id in held | ours
            ]
            told += [
                ((j.task_id, j.run_id, fact), 0.0) for j, fact, _ in group.reports if j.id in ours
            ]
            inbox.send_dated(connection, told)
            back = {job.claim for job, _ in group.given_back}
            back |= {job.claim for job, _, _ in group.reports} & self._forgotten
            free = jobs.release(connection, sorted(back))
        self._note_refusals(r for r in records if r.attempt.key not in written.ours)
        ended = (entry for entry in records if entry.ended)
        self._last |= {e.claim: e.attempt.key for e in ended if e.claim not in self._forgotten}
        for _, noted in group.notes:
            noted.set_result(None)
        for job, _, future in group.reports:
            future.set_result(job.id in ours)
        for job, future in group.given_back:
            future.set_result(job.id in free)

    def _last_before(self, group: _Batch) -> set[str]:
        """The last attempts that were written for jobs that end without a further one."""
        ending = {job.claim for job, _, _ in group.reports}
        ending -= {entry.claim for entry in group.records.values()}
        return {self._last[claim] for claim in ending if claim in self._last}

    def _note_forgotten(
        self, group: _Batch, written: attempts.Recorded, missing: Collection[str]
    ) -> None:
        """Note the claims under which the database has lost what was written before."""
        for entry in group.records.values():
            if entry.attempt.key in written.forgotten:
                self._forgotten.add(entry.claim)
        for job, _, _ in group.reports:
            if self._last.get(job.claim) in missing:
                self._forgotten.add(job.claim)
        if self._forgotten:
            log.warning("database_forgot", jobs=sorted(claim.job for claim in self._forgotten))

    def _note_refusals(self, records: Iterable[AttemptWrite]) -> None:
        for entry in records:
            self._refused.add(entry.claim)


def _fail(group: _Batch, error: Exception) -> None:
    waiting: list[Future[Any]] = [future for _, _, future in group.reports]
    waiting += [future for _, future in group.given_back]
    waiting += [future for _, future in group.notes]
    for future in waiting:
        future.set_exception(error)
