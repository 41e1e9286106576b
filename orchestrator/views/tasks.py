"""Tasks: a list, and one with its runs and steps."""

from collections import defaultdict
from collections.abc import Sequence
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
from orchestrator.views.spending import Spending, spending, spending_of_tasks
from orchestrator.views.steps import StepLine, step_lines
from orchestrator.views.values import RefValue
from shared.domain.config import Policy
from shared.domain.ids import Ref
from shared.domain.question import Reply
from shared.domain.task import ENDED_TASK, RunPhase, TaskPhase
from shared.store.tables import InterventionRow, RunRow, TaskRow
from shared.wire import from_json

_LOOKING = text("""
    SELECT jobs.step, runs.target FROM jobs LEFT JOIN runs ON runs.id = jobs.run_id
    WHERE jobs.task_id = :task_id AND jobs.kind = 'look' AND jobs.state = 'open'
    ORDER BY jobs.id
""")


@dataclass(frozen=True, slots=True)
class TaskLine:
    """A task in a list; `waiting` counts its open interventions.

    `tokens` and `cost`, in US dollars, are those of its planners and agents together. `state` is
    its phase in the four words of S1.22.
    """

    ref: RefValue
    phase: TaskPhase
    prompt: str
    targets: tuple[str, ...]
    waiting: int
    reason: str
    created_at: datetime
    ended_at: datetime | None
    state: str = ""
    tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class TaskList:
    """Tasks, newest first; with `more`, there are older ones, which follow after `next`."""

    tasks: tuple[TaskLine, ...]
    more: bool
    next: int | None = None


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


def list_tasks(
    connection: Connection,
    *,
    limit: int = 20,
    phase: TaskPhase | None = None,
    after: int | None = None,
    target: str | None = None,
) -> TaskList:
    """The newest tasks, at most `limit`; with `after`, those that follow it in this order.

    With a `target`, only those that run on that host or in that repository.
    """
    query = select(TaskRow.__table__).order_by(TaskRow.id.desc()).limit(limit + 1)
    if phase is not None:
        query = query.where(TaskRow.phase == phase.value)
    if after is not None:
        query = query.where(TaskRow.id < after)
    if target is not None:
        there = select(RunRow.task_id).where(RunRow.target == target)
        query = query.where(TaskRow.id.in_(there))
    rows = connection.execute(query).all()
    shown = rows[:limit]
    ids = [row.id for row in shown]
    targets: dict[int, list[str]] = defaultdict(list)
    for row in connection.execute(
        select(RunRow.task_id, RunRow.target).where(RunRow.task_id.in_(ids)).order_by(RunRow.id)
    ):
        targets[row.task_id].append(row.target)
    waiting, sums = _waiting(connection, ids), spending_of_tasks(connection, ids)
    lines = tuple(
        TaskLine(
            ref=Ref(row.id),
            phase=TaskPhase(row.phase),
            state=COARSE_TASK[TaskPhase(row.phase)],
            prompt=row.prompt,
            targets=tuple(targets[row.id]),
            waiting=waiting.get(row.id, 0),
            reason=row.reason,
            created_at=row.created_at,
            ended_at=row.ended_at,
            tokens=sums[row.id].tokens if row.id in sums else 0,
            cost=sums[row.id].cost if row.id in sums else 0.0,
        )
        for row in shown
    )
    more = len(rows) > limit
    return TaskList(lines, more=more, next=ids[-1] if more else None)


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


def _waiting(connection: Connection, task_ids: Sequence[int]) -> dict[int, int]:
    found = connection.execute(
        select(InterventionRow.task_id, func.count())
        .where(InterventionRow.task_id.in_(task_ids), InterventionRow.closed_at.is_(None))
        .group_by(InterventionRow.task_id)
    )
    return {task_id: count for task_id, count in found}  # noqa: C416 - rows are no pairs
