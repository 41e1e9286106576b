"""The final report (S0.80): what was done, which errors occurred, what was decided."""

from collections import Counter
from dataclasses import dataclass

from sqlalchemy import Connection

from orchestrator.views.attempts import AttemptLine, looks_for_plan
from orchestrator.views.decisions import HumanDecision, human_decisions
from orchestrator.views.places import RunPlace
from orchestrator.views.proofs import StepProof, prove
from orchestrator.views.steps import StepView, step_views
from orchestrator.views.tasks import TaskView, task_view
from shared.domain.ids import Ref


@dataclass(frozen=True, slots=True)
class Report:
    """A task with everything that happened in it.

    `attempts` counts all but the looks of planners, which `looked` counts; `looks` are those of the
    planner of the task. `failed` counts the attempts that were errors, `escalations` the bundles,
    `revisions` the lists of subtasks after the first. `decisions` are the acts of people.
    `predictions` counts those of a dry run; it is empty for any other task. `proofs` say what
    proves each step; in a dry run nothing does.
    """

    task: TaskView
    steps: tuple[StepView, ...]
    attempts: int
    failed: int
    corrected: int
    escalations: int
    revisions: int
    seconds: float
    predictions: dict[str, int]
    decisions: tuple[HumanDecision, ...] = ()
    proofs: tuple[StepProof, ...] = ()
    looked: int = 0
    looks: tuple[AttemptLine, ...] = ()


def report(connection: Connection, ref: Ref) -> Report:
    """The report of a task; raises Rejected when there is none."""
    task = task_view(connection, ref)
    places = [RunPlace(ref.task, run.run_id, run.target) for run in task.runs]
    steps = step_views(connection, ref.task, places)
    all_of_it = [attempt for step in steps for attempt in step.attempts]
    tried = [attempt for attempt in all_of_it if not attempt.look]
    looks = looks_for_plan(connection, places)
    return Report(
        task=task,
        steps=steps,
        attempts=len(tried),
        failed=sum(attempt.counted for attempt in tried),
        corrected=sum(a.correction is not None and not a.counted for a in tried),
        escalations=sum(len(step.escalations) for step in steps),
        revisions=sum(len(step.revisions) - 1 for step in steps),
        seconds=((task.ended_at or task.now) - task.created_at).total_seconds(),
        predictions=dict(Counter(a.prediction for a in tried if a.prediction is not None)),
        decisions=human_decisions(connection, ref),
        proofs=tuple(prove(step) for step in steps),
        looked=len(all_of_it) - len(tried) + len(looks),
        looks=looks,
    )
