"""Claim, perform, report: the life of every job, and the only place that catches."""

from collections.abc import Callable, Collection

import structlog

from shared.domain.errors import Defect, ReplanError
from shared.domain.facts import Fact, JobFailed, PassStarted
from shared.domain.jobs import Job, JobKind, QueueName
from shared.store import inbox, jobs
from shared.store.database import Database
from workers.journal import Journal
from workers.leases import Hold, LeaseKeeper

log = structlog.get_logger()

Perform = Callable[[Hold], Fact]
"""Does the work of a job in hand and says what happened."""


class Lifecycle:
    """Carries out jobs of some queues for a process known as `owner`; a lease lasts `lease` s."""

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
    ) -> None:
        self._database = database
        self._journal = journal
        self._keeper = keeper
        self._owner = owner
        self._lease = lease
        self._queues = [queue.value for queue in queues]
        self._performers = performers

    def carry_out(self, job_id: int) -> bool:
        """Do a job if it is to be had; returns whether it was. A stale message changes nothing."""
        job = self._claim(job_id)
        if job is None:
            return False
        with (
            structlog.contextvars.bound_contextvars(job=job.id, task_id=job.task_id),
            self._keeper.hold(job) as hold,
        ):
            fact = self._perform(hold)
            if not hold.lost.is_set():
                self._journal.report(job, fact).result()
            self._journal.forget(job)
        return True

    def _claim(self, job_id: int) -> Job | None:
        with self._database.begin() as connection:
            job = jobs.claim(connection, job_id, self._owner, self._lease, self._queues)
            if job is not None and job.kind is JobKind.EXECUTE and job.step is not None:
                started = PassStarted(job.step, job.revision, job.pass_no)
                inbox.send(connection, [(job.task_id, job.run_id, started)])
        return job

    def _perform(self, hold: Hold) -> Fact:
        try:
            return self._performers[hold.job.kind](hold)
        except ReplanError as error:
            log.warning("job_failed", family=error.family, stage=error.stage, reason=error.reason)
            return _failed(hold.job, error)
        except Exception as error:
            log.exception("job_broke")
            reason = f"{type(error).__name__}: {error}"
            return _failed(hold.job, Defect(reason, stage=hold.job.kind.value))


def _failed(job: Job, error: ReplanError) -> JobFailed:
    return JobFailed(
        kind=job.kind,
        step=job.step,
        revision=job.revision,
        pass_no=job.pass_no,
        family=error.family,
        stage=error.stage,
        reason=error.reason,
        next_step_cmd=error.next_step_cmd,
        retry_after=getattr(error, "retry_after", None),
        attempt=job.attempt,
    )
