"""The plan of a task, and the bundle of a step."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from orchestrator.views.places import require_step, require_task
from orchestrator.views.values import AuthorValue, RefValue
from shared.domain.bundle import Bundle
from shared.domain.errors import Rejected
from shared.domain.ids import Ref
from shared.domain.next_step import NextStep
from shared.domain.plan import OnFailure, Plan, Recovery, Step, Subtask
from shared.domain.task import TaskPhase
from shared.store import bundles, planned
from shared.store.tables import TaskRow
from shared.wire import from_json


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step as first planned; without subtasks, it is not detailed yet."""

    ref: RefValue
    key: str
    title: str
    instruction: str
    author: AuthorValue
    depends_on: tuple[str, ...]
    parallel_group: str | None
    recovery: Recovery
    on_failure: OnFailure
    subtasks: tuple[Subtask, ...]
    step_type: str = "task"
    parallelizable: bool | None = None
    parallelizable_reason: str = ""
    allowed_tools: tuple[str, ...] | None = None
    ask_question: str = ""
    ask_options: tuple[str, ...] = ()
    answer: str | None = None
    repository: str | None = None


@dataclass(frozen=True, slots=True)
class PlanView:
    """The first plan of a task; its steps show later revisions.

    `added` are the steps that replaced others on one target, `detailed` those that got their
    subtasks there when their turn came, each under its own ref.
    """

    ref: RefValue
    phase: TaskPhase
    summary: str
    given: bool
    steps: tuple[PlannedStep, ...]
    added: tuple[PlannedStep, ...] = ()
    detailed: tuple[PlannedStep, ...] = ()


@dataclass(frozen=True, slots=True)
class BundleView:
    """The evidence of a step (S0.96); `evidence` is what a model receives, byte for byte.

    It is empty for a bundle that was stored without its text.
    """

    ref: RefValue
    revision: int
    pass_no: int
    created_at: datetime
    bundle: Bundle
    evidence: str


def stored_plan(connection: Connection, ref: Ref) -> Plan:
    """The plan of a task; raises Rejected while there is none."""
    task_id = require_task(connection, ref)
    body, phase = connection.execute(
        select(TaskRow.plan, TaskRow.phase).where(TaskRow.id == task_id)
    ).one()
    if body is None:
        raise Rejected(
            f"T{task_id} has no plan yet: it is {phase}",
            stage="plan",
            next_step=NextStep.of("task watch", f"T{task_id}"),
        )
    return from_json(Plan, body)


def plan_view(connection: Connection, ref: Ref) -> PlanView:
    """The plan of a task; raises Rejected while there is none."""
    plan = stored_plan(connection, ref)
    phase, given = connection.execute(
        select(TaskRow.phase, TaskRow.plan_given).where(TaskRow.id == ref.task)
    ).one()
    keys = {step.ordinal: step.key for step in plan.steps}
    return PlanView(
        ref=ref.of_task(),
        phase=TaskPhase(phase),
        summary=plan.summary,
        given=given,
        steps=tuple(
            _planned_step(step, Ref(ref.task, step=step.ordinal), keys) for step in plan.steps
        ),
        added=tuple(_added_steps(connection, ref.task, keys)),
        detailed=tuple(
            _planned_step(
                each.step, Ref(ref.task, step=each.step.ordinal, target=each.target), keys
            )
            for each in planned.steps_detailed_in_turn(connection, ref.task)
        ),
    )


def _added_steps(
    connection: Connection, task_id: int, keys: dict[int, str]
) -> Iterator[PlannedStep]:
    """The steps that runs of a task have beyond its plan."""
    added = planned.added_steps(connection, task_id)
    known = {each.run_id: dict(keys) for each in added}
    for each in added:
        known[each.run_id][each.step.ordinal] = each.step.key
    for each in added:
        place = Ref(task_id, step=each.step.ordinal, target=each.target)
        yield _planned_step(each.step, place, known[each.run_id])


def _planned_step(step: Step, ref: Ref, keys: dict[int, str]) -> PlannedStep:
    return PlannedStep(
        ref=ref,
        key=step.key,
        title=step.title,
        instruction=step.instruction,
        author=step.author,
        depends_on=tuple(keys[ordinal] for ordinal in step.depends_on),
        parallel_group=step.parallel_group,
        recovery=step.recovery,
        on_failure=step.on_failure,
        subtasks=step.subtasks,
        step_type=step.step_type,
        parallelizable=step.parallelizable,
        parallelizable_reason=step.parallelizable_reason,
        allowed_tools=step.allowed_tools,
        ask_question=step.ask_question,
        ask_options=step.ask_options,
        answer=step.answer,
        repository=step.repository,
    )


def bundle_view(connection: Connection, ref: Ref, *, revision: int | None = None) -> BundleView:
    """The newest bundle of a step or of one revision; raises Rejected when there is none."""
    place, ordinal = require_step(connection, ref)
    stored = bundles.newest(connection, place.run_id, ordinal, revision=revision)
    here = place.step(ordinal)
    if stored is None:
        under = "" if revision is None else f" under revision {revision}"
        raise Rejected(
            f"no evidence has been gathered for {here}{under}; an escalation gathers it",
            stage="escalate",
            next_step=NextStep.of("step show", here),
        )
    return BundleView(
        ref=here,
        revision=stored.revision,
        pass_no=stored.pass_no,
        created_at=stored.created_at,
        bundle=stored.bundle,
        evidence=stored.evidence,
    )
