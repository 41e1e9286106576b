"""A task with its runs and steps."""

from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection, func, select, text

from orchestrator.views.agents import AgentAttempt, agents_of_task
from orchestrator.views.cancellations import InHand, in_hand
from orchestrator.views.interventions import InterventionView, list_interventions
from orchestrator.views.places import require_task
from orchestrator.views.postponed import PutOff, postponed_work
from orchestrator.views.recovery import (
    COARSE_RUN,
    COARSE_TASK,
    NO_ERRORS,
    TaskContext,
    task_context,
)
from orchestrator.views.spending import Spending, spending
from orchestrator.views.steps import StepLine, step_lines
from orchestrator.views.values import RefValue
from shared.domain.config import Policy
from shared.domain.ids import Ref
from shared.domain.question import Reply
from shared.domain.task import ENDED_TASK, RunPhase, TaskPhase
from shared.store.tables import RunRow, TaskRow
from shared.wire import from_json

_LOOKING = text("""
    SELECT jobs.step, runs.target FROM jobs LEFT JOIN runs ON runs.id = jobs.run_id
    WHERE jobs.task_id = :task_id AND jobs.kind = 'look' AND jobs.state = 'open'
    ORDER BY jobs.id
""")


@dataclass(frozen=True, slots=True)
class RunView:
    """A task on one target; `state` is its phase in the four words of S1.22."""

    ref: RefValue
    run_id: int
    target: str
    phase: RunPhase
    reason: str
    started_at: datetime | None
    ended_at: datetime | None
    steps: tuple[StepLine, ...]
    state: str = ""


@dataclass(frozen=True, slots=True)
class TaskView:
    """A task: its prompt, its policy, and its progress on each target.

    `state` is its phase in the four words of S1.22. `now` is the database's clock, for measuring
    spans; `in_hand` is what workers were running when it was cancelled, and how that ended;
    `put_off` is postponed work, `spending` the model calls and their cost; `context` is what was
    retried; `replies` are a person's answers before the planning; `looking` are the task and the
    steps, of its plan or of its runs, whose planner waits for a look; `agents` are the
    newest attempts of agents.
    """

    ref: RefValue
    phase: TaskPhase
    reason: str
    prompt: str
    improved_prompt: str | None
    plan_given: bool
    plan_summary: str
    steps_planned: int
    policy: Policy
    created_at: datetime
    ended_at: datetime | None
    now: datetime
    runs: tuple[RunView, ...]
    interventions: tuple[InterventionView, ...]
    in_hand: tuple[InHand, ...] = ()
    put_off: tuple[PutOff, ...] = ()
    spending: Spending = field(default_factory=Spending)
    state: str = ""
    context: TaskContext = NO_ERRORS
    replies: tuple[Reply, ...] = ()
    looking: tuple[RefValue, ...] = ()
    agents: tuple[AgentAttempt, ...] = ()

    @property
    def ended(self) -> bool:
        """True when nothing more will happen unless a person resumes it."""
        return self.phase in ENDED_TASK

    @property
    def waits(self) -> bool:
        """True when it cannot continue without a person."""
        return self.phase == TaskPhase.WAITING


def task_view(connection: Connection, ref: Ref) -> TaskView:
    """A task with everything that is open; raises Rejected when there is no such task."""
    task_id = require_task(connection, ref)
    row = connection.execute(
        select(TaskRow.__table__, func.clock_timestamp().label("now")).where(TaskRow.id == task_id)
    ).one()
    plan = row.plan or {}
    policy = from_json(Policy, row.policy)
    return TaskView(
        ref=Ref(task_id),
        phase=TaskPhase(row.phase),
        state=COARSE_TASK[TaskPhase(row.phase)],
        reason=row.reason,
        prompt=row.prompt,
        improved_prompt=row.improved_prompt,
        plan_given=row.plan_given,
        plan_summary=plan.get("summary", ""),
        steps_planned=len(plan.get("steps", ())),
        policy=policy,
        created_at=row.created_at,
        ended_at=row.ended_at,
        now=row.now,
        runs=_runs(connection, task_id, policy, ref.target),
        interventions=list_interventions(connection, task_id=task_id),
        in_hand=in_hand(connection, ref),
        put_off=postponed_work(connection, task_id),
        spending=spending(connection, task_id),
        context=task_context(connection, task_id, ref.target),
        replies=tuple(from_json(Reply, reply) for reply in row.replies),
        looking=tuple(
            Ref(task_id, step=each.step, target=each.target)
            for each in connection.execute(_LOOKING, {"task_id": task_id})
        ),
        agents=agents_of_task(connection, task_id, ref.target),
    )


def _runs(
    connection: Connection, task_id: int, policy: Policy, target: str | None
) -> tuple[RunView, ...]:
    query = select(RunRow.__table__).where(RunRow.task_id == task_id).order_by(RunRow.id)
    if target is not None:
        query = query.where(RunRow.target == target)
    rows = connection.execute(query).all()
    threshold = policy.error_threshold_per_step
    steps = step_lines(connection, task_id, [row.id for row in rows], threshold=threshold)
    return tuple(
        RunView(
            ref=Ref(task_id, target=row.target),
            run_id=row.id,
            target=row.target,
            phase=RunPhase(row.phase),
            state=COARSE_RUN[RunPhase(row.phase)],
            reason=row.reason,
            started_at=row.started_at,
            ended_at=row.ended_at,
            steps=steps[row.id],
        )
        for row in rows
    )
