"""Resuming a task after the cause was removed: what the acts have in common."""

from collections.abc import Iterator

from orchestrator.access.audit import Act
from orchestrator.acts.caller import Caller
from orchestrator.acts.done import Done, Note
from orchestrator.acts.post import CostCap, post
from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.views.spending import facts_to_resume
from orchestrator.views.tasks import TaskView, task_view
from shared.domain.errors import Rejected
from shared.domain.facts import ResumeRequested
from shared.domain.ids import Ref
from shared.domain.next_step import NextStep

_BY_ANSWER = {
    InterventionKind.UNKNOWN: "you say how its command ended",
    InterventionKind.QUESTION: "you answer its question",
    InterventionKind.BUDGET: "you raise the budget of its agents",
    InterventionKind.FORGOTTEN: "you say what becomes of the records on its host",
}
"""What waits for an answer, which a resumption cannot give."""


def resume_task(
    caller: Caller, verb: str, ref: Ref, *, cost_cap: float | None = None
) -> Done[TaskView]:
    """Resume after the cause was removed (S1.12–S1.16): what failed runs again.

    The counters of all steps are cleared. With a `cost_cap` (dollars), models may cost that much
    for the task from now on, and only what waits for the cap continues from where it was. The notes
    name what still waits for an answer. Raises Rejected, and records nothing, when there is no such
    task, when it has ended for good, and when it waits only for answers.
    """
    with caller.database.begin() as connection:
        before = task_view(connection, ref)
        first = facts_to_resume(
            connection,
            ref,
            before.interventions,
            capped=cost_cap is not None,
            by=caller.actor.name,
        )
    if cost_cap is None:
        _refuse_ended(before)
        _refuse_unanswered(before)
        reports = [*first, (ref.task, None, ResumeRequested())]
        taken = post(caller, Act(verb, str(before.ref)), reports)
    else:
        entry = Act(verb, str(before.ref), {"cost_cap": cost_cap})
        taken = post(caller, entry, first, CostCap(ref.task, cost_cap))
    with caller.database.begin() as connection:
        after = task_view(connection, ref)
    return Done(after, taken, tuple(_open_questions(after)))


def _refuse_ended(task: TaskView) -> None:
    if task.phase in {"done", "cancelled"}:
        raise Rejected(
            f"{task.ref} is {task.phase}: there is nothing to resume",
            stage="input",
            next_step=NextStep.of("task report", task.ref),
        )


def _refuse_unanswered(task: TaskView) -> None:
    """A resumption is not an answer: refuse it when the task waits only for answers."""
    waiting = [i for i in task.interventions if i.kind not in _BY_ANSWER]
    held_up = {s.phase for run in task.runs for s in run.steps} & {"blocked", "error", "skipped"}
    asked = next((i for i in task.interventions if i.kind in _BY_ANSWER), None)
    if asked is not None and not waiting and not held_up:
        how = _BY_ANSWER[InterventionKind(asked.kind)]
        raise Rejected(
            f"{asked.ref} waits until {how} ({asked.name}): resuming it does not answer that",
            stage="input",
            next_step=asked.next_step,
        )


def _open_questions(task: TaskView) -> Iterator[Note]:
    for waits in task.interventions:
        if waits.kind in _BY_ANSWER:
            how = _BY_ANSWER[InterventionKind(waits.kind)]
            yield Note(f"{waits.ref} still waits until {how}", waits.next_step)
