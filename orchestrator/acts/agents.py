"""Whether this installation carries out the work of agents."""

from collections.abc import Iterable

from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep
from shared.domain.plan import Step, Subtask, SubtaskKind


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


def _refusal(what: str) -> Rejected:
    return Rejected(
        f"{what}, and this version of replan carries out commands and snippets only: write it as "
        "commands",
        stage="plan",
        next_step=NextStep.of("schema show", "plan"),
    )
