"""Names of secrets in a plan, checked before anything is written."""

from collections.abc import Iterable

from shared.domain.errors import Rejected
from shared.domain.plan import Plan, Subtask
from shared.secrets.expansion import to_environment


def check_secrets(subtasks: Iterable[Subtask], *, where: str) -> None:
    """Raise Rejected, with the place, for a `${secret:NAME}` that commands cannot receive."""
    for subtask in subtasks:
        for text in (subtask.command, subtask.check, *subtask.preconditions, subtask.rollback):
            try:
                to_environment(text or "")
            except Rejected as error:
                raise Rejected(
                    f"{where}, subtask {subtask.ordinal}: {error.reason}",
                    stage=error.stage,
                    next_step=error.next_step,
                ) from error


def check_plan(plan: Plan) -> None:
    """The same for every step of a plan."""
    for step in plan.steps:
        check_secrets(step.subtasks, where=f"step {step.ordinal}")
