"""The sweeper lets time in: what has waited too long becomes a fact."""

from orchestrator import cleanup as ending
from shared.domain.facts import JobFailed
from shared.domain.jobs import Job
from shared.domain.next_step import NextStep
from shared.store import attempts, inbox, jobs
from shared.store.database import Database


class Sweeper:
    """Ends what nobody will: jobs that workers die of, attempts of cancelled steps left alone.

    To end such an attempt a worker is sent; called unknown it is only once none could.
    """

    def __init__(self, database: Database, *, max_claims: int) -> None:
        self._database = database
        self._max_claims = max_claims

    def sweep(self) -> int:
        """Returns how many jobs were given up."""
        with self._database.begin() as connection:
            exhausted = jobs.close_exhausted(connection, self._max_claims)
            inbox.send(connection, [(j.task_id, j.run_id, _lost(j)) for j in exhausted])
            ending.send_to_end(connection)
            attempts.close_orphans(connection)
        return len(exhausted)


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
