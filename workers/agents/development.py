"""The development task that a step of a session is, as its developer and its reviewer get it."""

from collections.abc import Iterable, Sequence
from typing import Literal

from shared.contracts.project import DevTask
from shared.domain.plan import Step, Subtask
from shared.domain.rejected_delivery import RejectedDelivery

_LONGEST = 8_000
"""Characters of one rejection: the task stands in the script that starts a runner."""


def dev_task(
    step: Step,
    subtasks: Iterable[Subtask],
    *,
    rejections: Sequence[RejectedDelivery] = (),
    max_attempts: int,
    depends_on: Sequence[str] = (),
    status: Literal["running", "review"] = "running",
) -> DevTask:
    """The step as the next attempt at it finds it (S3.31-S3.40); `subtasks` are its newest."""
    agents = [subtask for subtask in subtasks if subtask.agent is not None]
    criteria = (line for each in agents if each.agent is not None for line in each.agent.acceptance)
    attempt = len(rejections) + 1
    last = next(reversed(rejections), None)
    return DevTask(
        id=step.key,
        title=step.title,
        description=step.instruction or "\n\n".join(each.command for each in agents),
        acceptance_criteria=list(dict.fromkeys(criteria)),
        depends_on=list(depends_on),
        status=status,
        attempt=attempt,
        max_attempts=max(attempt, max_attempts),
        review_verdict=None if last is None else "rejected",
        review_comments=[] if last is None else [_cut(each) for each in last.comments],
        rejection_history=[_cut(str(each)) for each in rejections],
    )


def _cut(text: str) -> str:
    left = len(text) - _LONGEST
    return text if left <= 0 else f"{text[:_LONGEST]} … ({left} more characters)"
