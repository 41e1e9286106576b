"""The sweeper lets time in: what has waited too long becomes a fact."""

import structlog

from orchestrator.silent_sessions import SilentSessions
from shared.domain.facts import CommandLeftRunning, JobFailed
from shared.domain.jobs import Job
from shared.domain.next_step import NextStep
from shared.store import attempts, inbox, jobs
from shared.store.database import Database

log = structlog.get_logger()


class Sweeper:
    """Reports what nobody else will: jobs that workers die of, commands that run unattended.

    First of all it frees what sessions hold whose clients have fallen silent: nobody else can have
    it, and nobody may notice.
    """

    def __init__(self, database: Database, *, max_claims: int) -> None:
        self._database = database
        self._max_claims = max_claims
        self._silent = SilentSessions(database)

    def sweep(self) -> int:
        """Returns how many jobs were given up."""
        ended = self._silent.end()
        if ended:
            log.warning("silent_sessions_ended", sessions=ended)
        with self._database.begin() as connection:
            exhausted = jobs.close_exhausted(connection, self._max_claims)
            inbox.send(connection, [(j.task_id, j.run_id, _lost(j)) for j in exhausted])
            left = attempts.left_running(connection)
            inbox.send(connection, [(each.task_id, each.run_id, _left(each)) for each in left])
        return len(exhausted)


def _left(running: attempts.LeftRunning) -> CommandLeftRunning:
    return CommandLeftRunning(running.step, running.revision, running.pass_no)


def _lost(job: Job) -> JobFailed:
    return JobFailed(
        kind=job.kind,
        step=job.step,
        revision=job.revision,
        pass_no=job.pass_no,
        family="defect",
        stage=job.kind.value,
        reason=f"{job.claims} workers took this job and none of them came back",
        next_step=NextStep.of("task resume", f"T{job.task_id}"),
        postponed=job.postponed,
    )
