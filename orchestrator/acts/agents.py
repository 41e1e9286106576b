"""What plans need for the work of agents: somebody who does it, and repositories."""

from collections.abc import Iterable

from sqlalchemy import Connection

from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep
from shared.domain.plan import Plan, Step, Subtask, SubtaskKind
from shared.store import hosts, repositories, targets


def require_agents(steps: Iterable[Step] = (), subtasks: Iterable[Subtask] = ()) -> None:
    """Raise Rejected for a plan, or a list of subtasks, that needs an agent or a repository.

    Nothing carries such work out yet.
    """
    listed = tuple(steps)
    for step in listed:
        if step.repository is not None:
            raise _refusal(f"step {step.key!r} happens in the repository {step.repository!r}")
    for subtask in (*(each for step in listed for each in step.subtasks), *subtasks):
        if subtask.kind is SubtaskKind.AGENT:
            raise _refusal(f"subtask {subtask.key!r} is the work of an agent")


def named_repositories(plan: Plan | None) -> tuple[str, ...]:
    """The repositories that the steps of a plan name, each once."""
    steps = () if plan is None else plan.steps
    return tuple(dict.fromkeys(step.repository for step in steps if step.repository is not None))


def require_repositories(connection: Connection, plan: Plan) -> None:
    """Raise Rejected for a repository that a plan names and that cannot be used."""
    for name in named_repositories(plan):
        place = targets.find(connection, name)
        if place is None or place.repository is None or place.host.distrusted:
            raise refusal_of_repository(connection, name)


def refusal_of_repository(connection: Connection, name: str) -> Rejected:
    """The error for a repository that cannot be used.

    Raises Misconfigured if nothing may run on its host.
    """
    known = repositories.find(connection, name)
    if known is None:
        return repositories.unknown(connection, name)
    hosts.require_trusted(hosts.get(connection, known.host))
    return Rejected(
        f"the repository {name!r} has just been changed: submit it again",
        stage="input",
        next_step=NextStep.of("repo show", name),
    )


def _refusal(what: str) -> Rejected:
    return Rejected(
        f"{what}, and this version of replan carries out commands and snippets only: write it as "
        "commands",
        stage="plan",
        next_step=NextStep.of("schema show", "plan"),
    )
