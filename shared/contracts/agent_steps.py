"""What the work of an agent needs: a repository, runners that it allows, and a check."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from shared.contracts.complaints import unknown
from shared.domain.agent import HOLDS_TOOLS, NEEDS_COMMAND, RUNNERS, RunnerChoice
from shared.domain.errors import Rejected
from shared.domain.next_step import Blank, NextStep
from shared.domain.plan import Subtask, SubtaskKind
from shared.domain.target import Repository

Places = Mapping[str, Repository | None]
"""Where a step happens, by name, on each target of its task; None: on a host itself."""


def has_agents(subtasks: Iterable[Subtask]) -> bool:
    """Whether one of them is the work of an agent."""
    return any(subtask.kind is SubtaskKind.AGENT for subtask in subtasks)


def settle(
    subtask: Subtask, places: Places, *, where: str = "", needs_check: bool = True
) -> Subtask:
    """The subtask, with the checks of its repository if it is an agent's and has none of its own.

    A command stays as it is. Raises Rejected for an agent on a host, a runner that nobody could
    start or that a repository does not allow, and where neither it nor the repository has a check
    and `needs_check`. `where` names the step in the error.
    """
    if subtask.kind is not SubtaskKind.AGENT:
        return subtask
    what = f"{where}: subtask {subtask.key!r}" if where else f"subtask {subtask.key!r}"
    for name, repository in places.items():
        if repository is None:
            raise Rejected(
                f"{what} is the work of an agent, and {name!r} is not a repository: name one as "
                "the `repository` of the step, or as the target (--host)",
                stage="plan",
                next_step=NextStep.of("repo add", Blank("NAME"), path=Blank("FOLDER")),
            )
        _require_runners(what, repository, subtask)
    if subtask.check is not None:
        return subtask
    check = _check_of(what, places)
    if check is None and needs_check:
        raise Rejected(
            f"{what} is the work of an agent and has no check, nor has repository "
            f"{' or '.join(map(repr, places))}: give it a `check`, a command that exits with 0 "
            "once the work is done",
            stage="plan",
            next_step=NextStep.of("schema show", "plan"),
        )
    return replace(subtask, check=check)


def _check_of(what: str, places: Places) -> str | None:
    found = {name: place.check for name, place in places.items() if place is not None}
    if len(set(found.values())) > 1:
        raise Rejected(
            f"{what} is the work of an agent and has no check, and the repositories "
            f"{' and '.join(map(repr, found))} have different ones: give it a `check` of its own",
            stage="plan",
            next_step=NextStep.of("schema show", "plan"),
        )
    return next(iter(found.values()), None)


def _require_runners(what: str, repository: Repository, subtask: Subtask) -> None:
    chain = () if subtask.agent is None else subtask.agent.chain
    if not chain and repository.usual_runner is None:
        raise Rejected(
            f"{what} names no runner, and those that repository {repository.name!r} allows need "
            f"more than their name: {', '.join(repository.runners or ()) or 'none'}",
            stage="plan",
            next_step=NextStep.of("repo show", repository.name),
        )
    for choice in chain:
        _require_startable(what, choice)
    _require_tools_held(what, subtask)
    refused = [choice.runner for choice in chain if not repository.allows(choice.runner)]
    if refused:
        raise Rejected(
            f"{what} names the runner {refused[0]!r}, and repository "
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


def _require_tools_held(what: str, subtask: Subtask) -> None:
    """Raise Rejected for a list of tools that a named runner cannot keep to."""
    if subtask.agent is None or subtask.agent.allowed_tools is None:
        return
    unfit = [each.name for each in subtask.agent.chain if each.runner not in HOLDS_TOOLS]
    if unfit:
        raise Rejected(
            f"{what} has `allowed_tools`, which the runner {unfit[0]!r} cannot keep to; runners "
            f"that can: {', '.join(HOLDS_TOOLS)}",
            stage="plan",
            next_step=NextStep.of("schema show", "plan"),
        )
