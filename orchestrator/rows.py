"""Converts rows to the states of the core, and back."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import text

from orchestrator.core.decisions import Enqueue, OpenIntervention
from orchestrator.core.state import RunState, StepState, TaskState, WaitsFor
from shared.domain.author import Author, PlanningRole
from shared.domain.config import Policy
from shared.domain.delivery import Acceptance, Checkpoint
from shared.domain.jobs import queue_of
from shared.domain.look import Looking
from shared.domain.plan import Draft, OnFailure, Plan, Recovery
from shared.domain.task import ENDED_RUN, ENDED_TASK, RunPhase, StepPhase, TaskPhase
from shared.store.jobs import NewJob
from shared.wire import from_json, to_json

PARKED = "Defect"
"""The kind of an event that records a fact which could not be folded in and changed nothing."""

ADD_REPLY = text("UPDATE tasks SET replies = replies || CAST(:reply AS jsonb) WHERE id = :task_id")
"""Keeps a question of the taskmaster with its answer."""

CLOSE_INTERVENTIONS = text("""
    UPDATE interventions SET closed_at = clock_timestamp()
    WHERE task_id = :task_id AND closed_at IS NULL
      AND (CAST(:run_id AS bigint) IS NULL OR run_id = :run_id)
      AND (CAST(:step AS bigint) IS NULL OR step = :step)
      AND (step IS NULL OR step <> ALL(CAST(:sparing AS bigint[])))
      AND (CAST(:intervention AS bigint) IS NULL OR id = :intervention)
      AND (CAST(:kind AS text) IS NULL OR kind = :kind)
""")
"""Closes the interventions of a task, a run or a step, except those of the steps `sparing`.

With a number of an `intervention`, only that one; with a `kind`, only those of it."""


def job_of(task_id: int, run_id: int | None, decision: Enqueue) -> NewJob:
    """The job that a decision asks for, on the queue of the role that is to do it."""
    return NewJob(
        kind=decision.kind,
        queue=queue_of(decision.kind, decision.role).value,
        task_id=task_id,
        run_id=run_id,
        step=decision.step,
        revision=decision.revision,
        pass_no=decision.pass_no,
        postponed=decision.postponed,
        note=decision.note,
        answer=decision.answer,
        delay=decision.delay,
        driven_on=decision.driven_on,
        looks=decision.looks,
    )


def task_state(row: Any, runs: Mapping[int, str]) -> TaskState:
    """A task from its row and the phases of its runs."""
    return TaskState(
        phase=TaskPhase(row.phase),
        policy=from_json(Policy, row.policy),
        plan=None if row.plan is None else from_json(Plan, row.plan),
        runs={run_id: RunPhase(phase) for run_id, phase in runs.items()},
        postponed=row.postponed,
        unrefined=row.unrefined,
        asking=row.asking,
        looks={int(step): from_json(Looking, looks) for step, looks in row.looks.items()},
        reason=row.reason,
    )


def run_state(row: Any, policy: Policy, steps: Sequence[Any]) -> RunState:
    """A run from its row and the rows of its steps."""
    return RunState(
        id=row.id,
        phase=RunPhase(row.run_phase),
        policy=policy,
        steps={step.step: step_state(step) for step in steps},
        head=row.head,
        accepted=row.accepted,
        checkpoint=from_json(Checkpoint, row.checkpoint),
        held_open=row.held_open,
        paused=row.paused,
        reason=row.run_reason,
    )


def step_state(row: Any) -> StepState:
    """A step of a run from its row."""
    return StepState(
        ordinal=row.step,
        author=Author(PlanningRole(row.author_role), row.author_backend),
        title=row.title,
        depends_on=tuple(row.depends_on),
        recovery=Recovery(row.recovery),
        on_failure=OnFailure(row.on_failure),
        phase=StepPhase(row.phase),
        revision=row.revision,
        pass_no=row.pass_no,
        errors=row.errors,
        failures=row.failures,
        postponed=row.postponed,
        forced=row.forced,
        note=row.note,
        answer=row.answer,
        waits_for=None if row.waits_for is None else WaitsFor(row.waits_for),
        unfinished=row.unfinished,
        handed_up=row.handed_up,
        draft=None if row.draft is None else from_json(Draft, row.draft),
        generation=row.generation,
        cleanups=row.cleanups,
        looks=Looking(row.looks, row.looking),
        bare=row.bare,
        acceptance=None if row.acceptance is None else from_json(Acceptance, row.acceptance),
        rejections=row.rejections,
        accepted_as=row.accepted_as,
        reason=row.reason,
    )


def run_values(run_id: int, state: RunState) -> dict[str, Any]:
    """The row of a run, but for its steps."""
    return {
        "id": run_id,
        "phase": state.phase.value,
        "reason": state.reason,
        "head": state.head,
        "accepted": state.accepted,
        "checkpoint": to_json(state.checkpoint),
        "held_open": state.held_open,
        "paused": state.paused,
        "ended": state.phase in ENDED_RUN,
    }


def step_values(run_id: int, step: StepState) -> dict[str, Any]:
    """The row of a step of a run."""
    return {
        "run_id": run_id,
        "step": step.ordinal,
        "title": step.title,
        "author_role": step.author.role.value,
        "author_backend": step.author.backend,
        "depends_on": list(step.depends_on),
        "recovery": step.recovery.value,
        "on_failure": step.on_failure.value,
        "phase": step.phase.value,
        "revision": step.revision,
        "pass_no": step.pass_no,
        "errors": step.errors,
        "failures": step.failures,
        "postponed": step.postponed,
        "forced": step.forced,
        "note": step.note,
        "answer": step.answer,
        "waits_for": None if step.waits_for is None else step.waits_for.value,
        "unfinished": step.unfinished,
        "handed_up": step.handed_up,
        "draft": None if step.draft is None else to_json(step.draft),
        "generation": step.generation,
        "cleanups": step.cleanups,
        "looks": step.looks.rounds,
        "looking": step.looks.under_way,
        "bare": step.bare,
        "acceptance": None if step.acceptance is None else to_json(step.acceptance),
        "rejections": step.rejections,
        "accepted_as": step.accepted_as,
        "reason": step.reason,
    }


def task_values(task_id: int, state: TaskState, *, planned: bool, limited: bool) -> dict[str, Any]:
    """What changes in the row of a task: its plan when `planned`, its policy when `limited`."""
    return {
        "id": task_id,
        "phase": state.phase.value,
        "planned": planned,
        "plan": to_json(state.plan) if planned and state.plan is not None else None,
        "policy": to_json(state.policy) if limited else None,
        "postponed": state.postponed,
        "unrefined": state.unrefined,
        "asking": state.asking,
        "looks": {str(step): to_json(looks) for step, looks in state.looks.items()},
        "reason": state.reason,
        "ended": state.phase in ENDED_TASK,
    }


def intervention_values(
    task_id: int, run_id: int | None, opened: OpenIntervention
) -> dict[str, Any]:
    """The row of what waits for a person."""
    return {
        "task_id": task_id,
        "run_id": run_id,
        "step": opened.step,
        "kind": opened.kind.value,
        "stage": opened.stage,
        "reason": opened.reason,
        "next_step": None if opened.next_step is None else to_json(opened.next_step),
        "asked": [to_json(asked) for asked in opened.asked],
        "options": list(opened.options),
        "records": [to_json(record) for record in opened.records],
        "unpaid": None if opened.unpaid is None else to_json(opened.unpaid),
    }
