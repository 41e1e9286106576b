"""Planners that want to see something first, and the workers that look for them."""

from shared.domain import facts as f
from shared.domain.jobs import JobKind
from tests.unit.core.given import LOOKS
from tests.unit.core.open_jobs import OpenJob
from tests.unit.core.world import World

LOOKS_FIRST = (JobKind.PLAN, JobKind.DETAIL, JobKind.REVISE, JobKind.REPLAN)


def looks(world: World, job: OpenJob) -> bool:
    """Whether the job is about looks, or its planner wants some now."""
    return job.kind is JobKind.LOOK or (job.kind in LOOKS_FIRST and world.rng.random() < 0.2)


def look(world: World, job: OpenJob) -> f.LooksRequested | f.LooksTaken:
    """A planner wants to see something first, or a worker has taken the looks of that round."""
    if job.kind is not JobKind.LOOK:
        place = (job.kind, job.step, job.revision, job.pass_no)
        return f.LooksRequested(*place, job.looks + 1, LOOKS)
    kept = world.looks[job.run, job.step]
    assert (kept.revision, kept.pass_no, kept.round_no) == (job.revision, job.pass_no, job.looks)
    return f.LooksTaken(kept.kind, job.step, job.revision, job.pass_no, job.looks)
