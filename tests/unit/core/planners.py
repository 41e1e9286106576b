"""What planners in the simulated world make of a plan under way."""

import dataclasses

from shared.domain import facts as f
from shared.domain.task import StepPhase
from tests.unit.core.drawn import some_plan
from tests.unit.core.given import subtasks
from tests.unit.core.open_jobs import OpenJob
from tests.unit.core.world import World


def is_detailing(world: World, job: OpenJob) -> bool:
    """Whether it is about a bare step of a run whose turn has come."""
    if job.run is None or job.step is None:
        return False
    return world.runs[job.run].steps[job.step].phase is StepPhase.DETAILING


def changed_plan(world: World, job: OpenJob) -> f.PlanRevised:
    """What a planner answers that has not always heard of the latest steps."""
    assert job.run is not None
    assert job.step is not None
    known = max(world.runs[job.run].steps) - (world.rng.random() < 0.1)
    steps = some_plan(world.rng, complete=True).steps
    if job.pass_no % 2 == 0:
        steps = tuple(dataclasses.replace(step, subtasks=()) for step in steps)
    if world.rng.random() < 0.6:
        steps = tuple(
            dataclasses.replace(step, ask_question=world.rng.choice(["", "which?", "when?"]))
            for step in steps
        )
    return f.PlanRevised(job.step, job.revision, job.pass_no, known, steps, "another way")


def detailed_plan(world: World, job: OpenJob) -> f.PlanRevised:
    """What a subtask planner makes of the bare steps of a changed plan."""
    assert job.run is not None
    assert job.step is not None
    draft = world.runs[job.run].steps[job.step].draft
    assert draft is not None, "nothing to detail"
    steps = tuple(dataclasses.replace(step, subtasks=subtasks("a")) for step in draft.steps)
    return f.PlanRevised(job.step, job.revision, job.pass_no, draft.known, steps, draft.reason)
