"""What plans need for the work of agents: somebody who does it, and repositories in a row."""

from collections.abc import Iterable
from dataclasses import replace

from shared.contracts.agent_steps import Places, has_agents, settle
from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep
from shared.domain.plan import Plan, Step, Subtask
from shared.domain.work_before import require_rows as require_in_rows
from shared.domain.work_before import say_beside, work_before
from shared.store import planned, repositories, targets
from shared.store.database import Database


def settle_agents(
    database: Database, steps: Iterable[Step], on: Iterable[str], *, needs_check: bool = True
) -> tuple[Step, ...]:
    """The steps of a run on one of these targets, as agents can do them (`agent_steps.settle`).

    They work in the repository of their step, or in the target if that is one. A name that is not
    a repository's is left to `targets.require_usable`. Raises Rejected.
    """
    listed, names = tuple(steps), tuple(on)
    if not any(has_agents(step.subtasks) for step in listed):
        return listed
    with database.begin() as connection:
        found = [(step, targets.places_of(connection, step, names)) for step in listed]
    return tuple(_settled(step, places, needs_check=needs_check) for step, places in found)


def _settled(step: Step, places: Places, *, needs_check: bool) -> Step:
    if not has_agents(step.subtasks) or (step.repository and None in places.values()):
        return step
    where = f"step {step.key!r}"
    settled = (settle(s, places, where=where, needs_check=needs_check) for s in step.subtasks)
    return replace(step, subtasks=tuple(settled))


def settle_agents_of(
    database: Database, run_id: int, ordinal: int, target: str, subtasks: Iterable[Subtask]
) -> tuple[Subtask, ...]:
    """The same for new subtasks of a step that is there."""
    listed = tuple(subtasks)
    if not has_agents(listed):
        return listed
    with database.begin() as connection:
        steps = {step.ordinal: step for step in planned.steps_of(connection, run_id)}
        places = targets.places_of(connection, steps[ordinal], (target,))
    return tuple(settle(subtask, places, where=f"step {ordinal}") for subtask in listed)


def require_rows(
    database: Database,
    steps: Iterable[Step],
    on: Iterable[str],
    *,
    known: int = 0,
    next_step: NextStep | None = None,
) -> None:
    """Raise Rejected for a step that would continue the work of several in one repository.

    See `work_before.require_rows`.
    """

    def is_repository(name: str) -> bool:
        with database.begin() as connection:
            return repositories.find(connection, name) is not None

    by_plan = next_step or NextStep.of("schema show", "plan")
    require_in_rows(steps, on, is_repository, known=known, next_step=by_plan)


def require_row_of(
    database: Database, run_id: int, ordinal: int, target: str, next_step: NextStep
) -> None:
    """The same for a step that is there."""
    with database.begin() as connection:
        steps = {step.ordinal: step for step in planned.steps_of(connection, run_id)}
        before = work_before(steps.values(), target)[ordinal]
        place = targets.name_for(steps[ordinal], target)
        if len(before) > 1 and repositories.find(connection, place) is not None:
            why = say_beside(str(ordinal), map(str, before), place)
            raise Rejected(why, stage="plan", next_step=next_step)


def named_repositories(plan: Plan | None) -> tuple[str, ...]:
    """The repositories that the steps of a plan name, each once."""
    steps = () if plan is None else plan.steps
    return tuple(dict.fromkeys(step.repository for step in steps if step.repository is not None))
