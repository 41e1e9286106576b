"""Everything of a plan that a person has to see before it runs, at every place."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from orchestrator.acts import approvals
from orchestrator.acts.approvals import PlacedSteps
from orchestrator.acts.caller import Caller, Writing
from orchestrator.views.interventions import asked_of, intervention
from orchestrator.views.places import runs_at
from orchestrator.views.plans import stored_plan
from orchestrator.views.tasks import TaskView, task_view
from shared.domain.approval import ApprovalRequest
from shared.domain.ids import Ref
from shared.domain.plan import Plan, Step
from shared.domain.task import ENDED_STEP
from shared.store import targets
from shared.store.targets import Place


def placed_steps(
    reach: Callable[[str], Place], plan: Plan, names: Iterable[str]
) -> list[PlacedSteps]:
    """The steps of the plan at each place where they happen, in the order of the targets."""
    found: list[PlacedSteps] = []
    for target in names:
        by_name: dict[str, list[Step]] = {}
        for step in plan.steps:
            by_name.setdefault(targets.name_for(step, target), []).append(step)
        found += [PlacedSteps(reach(name), tuple(steps)) for name, steps in by_name.items()]
    return found


def stored_steps(connection: Writing, ref: Ref) -> tuple[Plan, list[PlacedSteps]]:
    """The plan of a task, and its steps at each place where they happen."""
    plan = stored_plan(connection, ref)
    reach = partial(targets.reach, connection)
    return plan, placed_steps(reach, plan, [run.target for run in runs_at(connection, ref)])


def asks_of_plan(caller: Caller, ref: Ref) -> tuple[ApprovalRequest, ...]:
    """What of the plan of a task will ask a person, as far as its steps have not ended everywhere.

    What planners have yet to write is not listed. Raises Rejected when the plan contains something
    forbidden.
    """
    with caller.database.begin() as connection:
        task = task_view(connection, ref)
        plan, places = stored_steps(connection, ref)
    guard_for = approvals.guards_of(caller.settings.server, task.policy)
    to_come = _to_come(task)
    critical = _critical(plan.steps)
    return tuple(
        each
        for each in approvals.texts_to_approve(places, ref.task, guard_for)
        if each.subject.place is not None
        and each.subject.place.step in to_come
        and (each.rule or (each.subject.place.step, each.subject.place.subtask) in critical)
    )


def rest_of_plan(caller: Caller, name: str) -> tuple[ApprovalRequest, ...]:
    """What else of its plan will ask a person, besides what this intervention asks for.

    Raises Rejected when the intervention is no approval or is closed, and as `asks_of_plan` does.
    """
    with caller.database.begin() as connection:
        view = intervention(connection, name)
        approvals.require_approvable(view)
        asked = {each.subject.digest for each in asked_of(connection, name)}
    whole = asks_of_plan(caller, view.ref.of_task())
    return tuple(each for each in whole if each.subject.digest not in asked)


def _to_come(task: TaskView) -> set[int]:
    """The numbers of the steps that have not ended everywhere."""
    return {
        step.ref.step
        for run in task.runs
        for step in run.steps
        if step.phase not in ENDED_STEP and step.ref.step is not None
    }


def _critical(steps: Sequence[Step]) -> set[tuple[int, int]]:
    """The places of the subtasks that their plan calls critical."""
    return {
        (step.ordinal, subtask.ordinal)
        for step in steps
        for subtask in step.subtasks or ()
        if subtask.critical
    }
