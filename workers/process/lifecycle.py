"""The life of every job: claim, perform, report. All errors of a job are caught here."""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from time import monotonic
from uuid import uuid4

import structlog

from shared.domain.budget import Ending
from shared.domain.errors import Defect, ReplanError, Transient
from shared.domain.facts import Fact, JobFailed, PassFinished, PassStarted
from shared.domain.jobs import Job, JobKind, QueueName
from shared.domain.next_step import Advice, NextStep
from shared.store import jobs
from shared.store.database import Database, InDoubt
from workers.process.job_events import JobEvents
from workers.process.journal import Journal
from workers.process.leases import Hold, LeaseKeeper

log = structlog.get_logger()

Perform = Callable[[Hold], Fact]
"""Does the work of a job in hand and returns what happened."""


CLAIM_PAUSES = (0.05, 0.5, 2.0)
"""Seconds between tries of a claim while the database is unavailable; then the claim fails."""


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """A claimed job and the time at which the claim was sent (`time.monotonic`)."""

    job: Job
    asked_at: float


class Lifecycle:
    """Carries out jobs of some queues for the process `owner`; a lease lasts `lease` seconds."""

    def __init__(
        self,
        database: Database,
        journal: Journal,
        keeper: LeaseKeeper,
        *,
        owner: str,
        lease: float,
        queues: Collection[QueueName],
        performers: dict[JobKind, Perform],
        mask: Callable[[str], str] = str,
        events: JobEvents | None = None,
    ) -> None:
        self._mask = mask
        self._events = events or JobEvents()
        self._database = database
        self._journal = journal
        self._keeper = keeper
        self._owner = owner
        self._lease = lease
        self._queues = [queue.value for queue in queues]
        self._performers = performers
        self._claims_fail = False

    @property
    def claims_fail(self) -> bool:
        """Whether the last claim failed: the database is away, or accepts no writes."""
        return self._claims_fail

    def carry_out(self, job_id: int) -> bool:
        """Claim a job and do it; returns False if it was not free. A stale message does nothing."""
        taken = self.take([job_id])
        for each in taken:
            self.do(each)
        return bool(taken)

    def take(self, job_ids: Sequence[int]) -> list[ClaimedJob]:
        """Claim the jobs that are free; the caller must do each of them at once.

        If the database's answer is lost, the claim is repeated, and still counts as one claim.
        Raises Transient if the database stays unavailable; at once if it was so for the last claim.
        """
        owner = f"{self._owner}.{uuid4().hex[:8]}"
        for number, pause in enumerate(CLAIM_PAUSES):
            try:
                return self._try_claim(job_ids, owner, again=number > 0)
            except Transient as error:
                # A claim in doubt may have been made: only repeating it tells.
                if self._claims_fail and not isinstance(error, InDoubt):
                    raise
                log.warning("claim_waiting", jobs=list(job_ids), reason=error.reason)
                time.sleep(pause)
        try:
            return self._try_claim(job_ids, owner, again=True)
        except Transient:
            self._claims_fail = True
            raise

    def do(self, taken: ClaimedJob) -> None:
        """Do a claimed job and report its result."""
        job = taken.job
        with (
            structlog.contextvars.bound_contextvars(job=job.id, task_id=job.task_id),
            self._keeper.hold(job, taken.asked_at) as hold,
        ):
            if job.kind is JobKind.EXECUTE and job.step is not None:
                self._journal.begin_job(job, PassStarted(job.step, job.revision, job.pass_no))
            self._events.begin(job)
            if self._conclude(hold, self._perform(hold), taken.asked_at):
                _follow_up(hold)
            self._journal.forget(job)

    def _try_claim(self, job_ids: Sequence[int], owner: str, *, again: bool) -> list[ClaimedJob]:
        asked_at = monotonic()
        with self._database.at_once() as connection:
            claimed = jobs.claim(
                connection,
                job_ids,
                owner,
                self._lease,
                self._queues,
                again=again,
                presence=self._keeper.presence,
            )
        self._claims_fail = False
        return [ClaimedJob(job, asked_at) for job in claimed]

    def _perform(self, hold: Hold) -> Fact:
        try:
            return self._performers[hold.job.kind](hold)
        except ReplanError as error:
            log.warning("job_failed", family=error.family, stage=error.stage, reason=error.reason)
            return self._failure(hold.job, error)
        except Exception as error:
            log.exception("job_crashed")
            reason = f"{type(error).__name__}: {error}"
            return self._failure(hold.job, Defect(reason, stage=hold.job.kind.value))

    def _failure(self, job: Job, error: ReplanError) -> JobFailed:
        return JobFailed(
            kind=job.kind,
            step=job.step,
            revision=job.revision,
            pass_no=job.pass_no,
            family=error.family,
            stage=error.stage,
            reason=self._mask(error.reason),
            next_step=_for_task(error.next_step, job),
            retry_after=getattr(error, "retry_after", None),
            postponed=job.postponed,
        )

    def _conclude(self, hold: Hold, fact: Fact, since: float) -> bool:
        """Report what happened, or give the job back if it was given up before its end.

        The claim was made at `since` (`time.monotonic`).
        Returns whether the report was accepted. It is refused if another worker has the job or if
        the job was withdrawn; then nothing more is done about it.
        """
        if hold.given_up.is_set() and _is_unfinished(fact):
            log.info("job_given_back")
            self._journal.give_back(hold.job).result()
            return False
        accepted = self._journal.report(hold.job, fact).result()
        if accepted:
            self._events.end(hold.job, fact, monotonic() - since)
        else:
            self._events.withdraw(hold.job)
        return accepted


def _for_task(step: Advice | None, job: Job) -> Advice | None:
    """Fill in the task's reference: the code that raised the error may not know it."""
    return step.fill("TASK", f"T{job.task_id}") if isinstance(step, NextStep) else step


def _follow_up(hold: Hold) -> None:
    for step in hold.afterwards:
        try:
            step()
        except ReplanError as error:
            log.warning("follow_up_failed", stage=error.stage, reason=error.reason)


def _is_unfinished(fact: Fact) -> bool:
    """Whether the work was cut short, or failed while it was being stopped."""
    if isinstance(fact, PassFinished):
        return fact.ending is Ending.CANCELLED
    return isinstance(fact, JobFailed)
