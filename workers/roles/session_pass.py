"""A pass in a session: where it works, and what it has to deliver."""

from shared.domain.jobs import Job
from shared.store import jobs
from shared.store.database import Database
from workers.deliveries.publisher import Work
from workers.deliveries.worktree_rows import SeenWorktree, note_pass
from workers.passes.ports import PassOrder
from workers.roles.pass_means import OpenMeans
from workers.sessions import SessionBrief

STAGE = "execute"


def note_worktree(
    database: Database, job: Job, session: SessionBrief | None, opened: OpenMeans
) -> None:
    """Note the workspace of a pass in a session; nothing without one.

    Raises Transient if another worker has the job by now.
    """
    bench, repository = opened.bench, opened.repository
    if session is None or bench is None or repository is None:
        return
    assert job.run_id is not None and job.step is not None  # noqa: S101, PT018 - of a step
    seen = SeenWorktree(
        name=bench.name,
        run_id=job.run_id,
        step=job.step,
        revision=job.revision,
        pass_no=job.pass_no,
        repository=repository.name,
        host=repository.host,
        path=bench.path,
        base=bench.base,
    )
    with database.begin() as connection:
        jobs.require_held(connection, job.claim, STAGE)
        note_pass(connection, seen)


def work_of(job: Job, order: PassOrder, session: SessionBrief, opened: OpenMeans) -> Work:
    """What a pass in a repository has to deliver."""
    if opened.repository is None or opened.bench is None or opened.line is None:
        raise AssertionError("a session happens in a repository")
    return Work(job, order, session, opened.repository, opened.bench, opened.line)
