"""What happens beside the story: it is folded in at once, and nothing is drawn for it."""

from shared.domain import facts as f
from shared.domain.jobs import JobKind, LossSign
from tests.unit.core.open_jobs import OpenJob
from tests.unit.core.world import World


def meet_another_key(world: World) -> None:
    """A worker meets a host that shows another key: nothing of the task depends on it."""
    world.fold(None, f.HostKeyChanged("web1", "another key"))


def cancel_attempt(world: World, job: OpenJob) -> None:
    """A person has the command ended that a worker runs, or had begun before it was put off.

    Its step stands where it stood: it is folded in at once, and nothing is drawn for it.
    """
    if job.kind is not JobKind.EXECUTE:
        return
    assert job.run is not None
    assert job.step is not None
    before = world.runs[job.run]
    key = f"R{job.run}-{job.step}-p{job.pass_no}"
    place = job.step, job.revision, job.pass_no, 1, 1
    world.fold(job.run, f.AttemptCancelRequested(*place, key, "ann"))
    assert world.runs[job.run] == before


def lose_worker(world: World, job: OpenJob) -> None:
    """The worker that has the job vanishes, and another one takes it: nothing is decided anew."""
    told = f.WorkerLost(
        job.kind, job.step, job.revision, job.pass_no, "executor.7@web1", LossSign.PRESENCE
    )
    world.fold(job.run, told)
