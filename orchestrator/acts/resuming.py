"""Resuming: what `task resume`, `plan resume` and `POST /plans/{plan_id}/resume` have in common."""

from dataclasses import dataclass

from orchestrator.access.actor import Actor
from orchestrator.access.audit import Act
from orchestrator.acts.posting import CostCap, post
from orchestrator.core.decisions import InterventionKind
from orchestrator.views.spending import going_on
from orchestrator.views.tasks import TaskView, task_view
from shared.domain.errors import Rejected
from shared.domain.facts import ResumeRequested
from shared.domain.ids import Ref, parse_ref
from shared.store.database import Database

RESUMED = "Plan resumed successfully"
"""S1.17, word for word."""

_BY_ANSWER = {
    InterventionKind.UNKNOWN: "you say how its command ended",
    InterventionKind.QUESTION: "you answer its question",
}
"""What waits for somebody's word, and no resumption is that word."""


@dataclass(frozen=True, slots=True)
class Resumption:
    """What came of a resumption: the task after it, and what still waits for an answer.

    `taken` is False when no coordinator has taken it up in time; then it stands recorded.
    """

    task: TaskView
    taken: bool
    unanswered: tuple[str, ...] = ()

    @property
    def body(self) -> dict[str, str]:
        """The answer of the HTTP face (S1.17)."""
        return {"message": RESUMED}


def plan_ref(plan_id: str) -> Ref:
    """The task that a plan belongs to: `12`, or `T12`. Raises Rejected for anything else."""
    text = plan_id.strip()
    return parse_ref(f"T{text}" if text.isdigit() else text).of_task()


def resume(
    database: Database,
    ref: Ref,
    actor: Actor,
    verb: str = "task.resume",
    *,
    cost_cap: float | None = None,
) -> Resumption:
    """Go on after the cause was removed (S1.12–S1.16): what failed runs again, nothing else does.

    The counters of all steps are cleared. With a `cost_cap` (dollars) models may cost that much for
    the task from now on, and only what waits for that goes on, from where it was. Raises Rejected,
    and records nothing, when there is no such task, when it has ended for good, and when it waits
    for answers alone.
    """
    with database.begin() as connection:
        before = task_view(connection, ref)
        first = going_on(connection, ref, before.interventions, capped=cost_cap is not None)
    if cost_cap is None:
        _refuse_ended(before)
        _refuse_unanswered(before)
        reports = [*first, (ref.task, None, ResumeRequested())]
        taken = post(database, reports, actor, Act(verb, str(before.ref)))
    else:
        act = Act(verb, str(before.ref), {"cost_cap": cost_cap})
        taken = post(database, first, actor, act, CostCap(ref.task, cost_cap))
    with database.begin() as connection:
        after = task_view(connection, ref)
    return Resumption(after, taken, tuple(_unanswered(after)))


def resume_plan(database: Database, plan_id: str, actor: Actor) -> Resumption:
    """The same for a plan by its id (S1.16, S1.18)."""
    return resume(database, plan_ref(plan_id), actor, "plan.resume")


def _refuse_ended(task: TaskView) -> None:
    if task.phase in {"done", "cancelled"}:
        raise Rejected(
            f"{task.ref} is {task.phase}: there is nothing to go on with",
            stage="input",
            next_step_cmd=f"replan task report {task.ref}",
        )


def _refuse_unanswered(task: TaskView) -> None:
    """A resumption is no answer: refused where nothing waits for anything else."""
    waiting = [i for i in task.interventions if i.kind not in _BY_ANSWER]
    held_up = {s.phase for run in task.runs for s in run.steps} & {"blocked", "error", "skipped"}
    asked = next((i for i in task.interventions if i.kind in _BY_ANSWER), None)
    if asked is not None and not waiting and not held_up:
        how = _BY_ANSWER[InterventionKind(asked.kind)]
        raise Rejected(
            f"{asked.ref} waits until {how} ({asked.name}): to resume is no answer",
            stage="input",
            next_step_cmd=asked.next_step_cmd,
        )


def _unanswered(task: TaskView) -> list[str]:
    return [
        f"{waits.ref} still waits until {_BY_ANSWER[InterventionKind(waits.kind)]}: "
        f"{waits.next_step_cmd}"
        for waits in task.interventions
        if waits.kind in _BY_ANSWER
    ]
