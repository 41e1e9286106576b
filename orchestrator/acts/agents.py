"""What plans need for the work of agents: somebody who does it, and repositories in a row."""

from collections.abc import Iterable, Sequence

from shared.contracts.complaints import unknown
from shared.domain.agent import NEEDS_COMMAND, RUNNERS, RunnerChoice
from shared.domain.errors import Rejected
from shared.domain.next_step import Blank, NextStep
from shared.domain.plan import Plan, Step, Subtask, SubtaskKind
from shared.domain.target import Repository
from shared.domain.work_before import say_beside, work_before
from shared.store import planned, repositories, targets
from shared.store.database import Database


def require_agents(database: Database, steps: Iterable[Step], on: Iterable[str]) -> None:
    """Raise Rejected for a step whose agents could not work in a run on one of these targets.

    They work in the repository of their step, or in the target if that is one, with the runners
    that it allows. A name that is not a repository's is left to `targets.require_usable`.
    """
    asking = [step for step in steps if _agents(step.subtasks)]
    if not asking:
        return
    listed = tuple(on)
    with database.begin() as connection:
        for step in asking:
            for name in {targets.name_for(step, target): None for target in listed}:
                repository = repositories.find(connection, name)
                if repository is not None or step.repository is None:
                    _require(f"step {step.key!r}", name, repository, step.subtasks)


def require_agents_of(
    database: Database, run_id: int, ordinal: int, target: str, subtasks: Iterable[Subtask]
) -> None:
    """The same for new subtasks of a step that is there."""
    listed = tuple(subtasks)
    if not _agents(listed):
        return
    with database.begin() as connection:
        steps = {step.ordinal: step for step in planned.steps_of(connection, run_id)}
        name = targets.name_for(steps[ordinal], target)
        _require(f"step {ordinal}", name, repositories.find(connection, name), listed)


def require_rows(
    database: Database,
    steps: Iterable[Step],
    on: Iterable[str],
    *,
    known: int = 0,
    next_step: NextStep | None = None,
) -> None:
    """Raise Rejected for a step that would continue the work of several in one repository.

    `steps` are all of a run on one of these targets. Those up to the number `known` were there
    before: they may be as they are, and are told by their numbers.
    """
    listed = {step.ordinal: step for step in steps}
    for target in on:
        for number, before in work_before(listed.values(), target).items():
            if number > known and len(before) > 1:
                names = [str(n) if n <= known else repr(listed[n].key) for n in (number, *before)]
                _refuse_beside(database, names, targets.name_for(listed[number], target), next_step)


def require_row_of(
    database: Database, run_id: int, ordinal: int, target: str, next_step: NextStep
) -> None:
    """The same for a step that is there."""
    with database.begin() as connection:
        steps = {step.ordinal: step for step in planned.steps_of(connection, run_id)}
    before = work_before(steps.values(), target)[ordinal]
    if len(before) > 1:
        names = [str(number) for number in (ordinal, *before)]
        _refuse_beside(database, names, targets.name_for(steps[ordinal], target), next_step)


def _refuse_beside(
    database: Database, names: Sequence[str], place: str, next_step: NextStep | None
) -> None:
    with database.begin() as connection:
        if repositories.find(connection, place) is None:
            return
    raise Rejected(
        say_beside(names[0], names[1:], place),
        stage="plan",
        next_step=next_step or NextStep.of("schema show", "plan"),
    )


def _require(
    what: str, name: str, repository: Repository | None, subtasks: Iterable[Subtask]
) -> None:
    for subtask in _agents(subtasks):
        if repository is None:
            raise Rejected(
                f"{what}: subtask {subtask.key!r} is the work of an agent, and {name!r} is not a "
                "repository: name one as the `repository` of the step",
                stage="plan",
                next_step=NextStep.of("repo add", Blank("NAME"), path=Blank("FOLDER")),
            )
        _require_runners(what, repository, subtask)


def _require_runners(what: str, repository: Repository, subtask: Subtask) -> None:
    chain = () if subtask.agent is None else subtask.agent.chain
    for choice in chain:
        _require_startable(f"{what}: subtask {subtask.key!r}", choice)
    refused = [choice.runner for choice in chain if not repository.allows(choice.runner)]
    if refused:
        raise Rejected(
            f"{what}: subtask {subtask.key!r} names the runner {refused[0]!r}, and repository "
            f"{repository.name!r} allows {', '.join(repository.runners or ()) or 'none'}",
            stage="plan",
            next_step=NextStep.of("repo show", repository.name),
        )


def _require_startable(what: str, choice: RunnerChoice) -> None:
    """Raise Rejected for a runner that nobody could start."""
    if choice.runner not in RUNNERS:
        reason = f"names the runner {choice.runner!r}, which is {unknown(choice.runner, RUNNERS)}"
    elif choice.runner in NEEDS_COMMAND and choice.command is None:
        reason = f"names the runner {choice.runner!r} without the `command` that starts it"
    else:
        return
    raise Rejected(f"{what} {reason}", stage="plan", next_step=NextStep.of("schema show", "plan"))


def _agents(subtasks: Iterable[Subtask]) -> tuple[Subtask, ...]:
    return tuple(subtask for subtask in subtasks if subtask.kind is SubtaskKind.AGENT)


def named_repositories(plan: Plan | None) -> tuple[str, ...]:
    """The repositories that the steps of a plan name, each once."""
    steps = () if plan is None else plan.steps
    return tuple(dict.fromkeys(step.repository for step in steps if step.repository is not None))
