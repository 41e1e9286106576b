"""A project as it stands: its manager's plan, with what has become of each development task."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, text

from orchestrator.views.interventions import InterventionView, list_interventions
from orchestrator.views.places import require_task
from orchestrator.views.spending import spending
from orchestrator.views.values import RefValue
from shared.contracts.project import DevTask, ProjectAnalysis, ProjectPlan, ReviewResult
from shared.domain.config import Policy
from shared.domain.errors import Rejected
from shared.domain.ids import Ref
from shared.domain.next_step import Blank, NextStep
from shared.domain.plan import Step
from shared.domain.rejected_delivery import RejectedDelivery
from shared.domain.task import ENDED_TASK, StepPhase, TaskPhase
from shared.store import planned, projects, rejected_deliveries, reviews
from shared.store.reviews import StoredReview
from shared.wire import from_json

_TASK = text("""
    SELECT tasks.prompt, tasks.phase, tasks.reason, tasks.policy, tasks.created_at, tasks.ended_at,
        runs.id AS run_id, runs.target, runs.head, runs.accepted, runs.paused, runs.phase AS run
    FROM tasks JOIN runs ON runs.task_id = tasks.id
    WHERE tasks.id = :task_id ORDER BY runs.id LIMIT 1
""")

_STEPS = text("""
    SELECT run_steps.step, run_steps.phase, run_steps.waits_for, run_steps.reason,
        run_steps.revision, run_steps.changed_at, begun.started_at,
        newest.deliverables, newest.status, newest.settled_at, newest.delivered
    FROM run_steps
    LEFT JOIN LATERAL (
        SELECT min(started_at) AS started_at FROM attempts
        WHERE run_id = run_steps.run_id AND step = run_steps.step AND NOT look
    ) AS begun ON TRUE
    LEFT JOIN LATERAL (
        SELECT id, deliverables, status, settled_at, count(*) OVER () AS delivered
        FROM deliveries WHERE run_id = run_steps.run_id AND step = run_steps.step
        ORDER BY id DESC LIMIT 1
    ) AS newest ON TRUE
    WHERE run_steps.run_id = :run_id AND run_steps.phase <> 'replaced'
    ORDER BY run_steps.step
""")

_CHECKPOINT = text("""
    SELECT number, status, remote, ref, head_remote, finished_at
    FROM checkpoints WHERE run_id = :run_id ORDER BY number DESC LIMIT 1
""")

_LIST = text("""
    SELECT tasks.id, tasks.prompt, tasks.phase, tasks.created_at, tasks.ended_at,
        runs.target, runs.paused, work.tasks, work.approved, open.waiting
    FROM tasks JOIN runs ON runs.task_id = tasks.id
    LEFT JOIN LATERAL (
        SELECT count(*) AS tasks,
            count(*) FILTER (WHERE phase IN ('accepted', 'done')) AS approved
        FROM run_steps WHERE run_id = runs.id AND phase <> 'replaced'
    ) AS work ON TRUE
    LEFT JOIN LATERAL (
        SELECT count(*) AS waiting FROM interventions
        WHERE task_id = tasks.id AND closed_at IS NULL
    ) AS open ON TRUE
    WHERE tasks.policy ->> 'project' = 'true'
      AND (CAST(:after AS bigint) IS NULL OR tasks.id < :after)
    ORDER BY tasks.id DESC LIMIT :limit
""")

_FAILED = frozenset({StepPhase.ERROR, StepPhase.BLOCKED, StepPhase.SKIPPED, StepPhase.CANCELLED})
_APPROVED = frozenset({StepPhase.ACCEPTED, StepPhase.DONE})
_UNBEGUN = frozenset({StepPhase.NOT_STARTED, StepPhase.DETAILING, StepPhase.READY})


@dataclass(frozen=True, slots=True)
class ProjectLine:
    """A project in a list: how many of its tasks are approved; `waiting` counts interventions."""

    ref: RefValue
    goal: str
    repository: str
    status: str
    tasks: int
    approved: int
    waiting: int
    created_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class ProjectList:
    """Projects, newest first; older ones follow after `next`, unless it is None."""

    projects: tuple[ProjectLine, ...]
    next: int | None = None


@dataclass(frozen=True, slots=True)
class PublishedHead:
    """The newest checkpoint of a project: what was verified on its remote, None before that."""

    number: int
    status: str
    remote: str
    ref: str
    head: str | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class ProjectView:
    """A project: `plan` is its manager's, with each task as it stands now (S3.31-S3.49).

    Before anybody has planned it, the plan has no tasks. `places` leads from the ids of the tasks
    to their steps, `reviewers` to whoever reviewed them last. `head` is what was accepted so far,
    None for nothing; `cost` is in US dollars.
    """

    ref: RefValue
    phase: str
    reason: str
    repository: str
    plan: ProjectPlan
    places: Mapping[str, RefValue]
    reviewers: Mapping[str, str]
    head: str | None
    accepted: int
    checkpoint: PublishedHead | None
    interventions: tuple[InterventionView, ...]
    tokens: int
    cost: float
    created_at: datetime
    ended_at: datetime | None

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen unless a person resumes it."""
        return self.phase in ENDED_TASK


def list_projects(
    connection: Connection, *, limit: int = 20, after: int | None = None
) -> ProjectList:
    """The newest projects, at most `limit`; with `after`, those that follow it in this order."""
    rows = connection.execute(_LIST, {"limit": limit + 1, "after": after}).all()
    lines = tuple(
        ProjectLine(
            ref=Ref(row.id),
            goal=row.prompt,
            repository=row.target,
            status=_status(TaskPhase(row.phase), paused=row.paused),
            tasks=row.tasks,
            approved=row.approved,
            waiting=row.waiting,
            created_at=row.created_at,
            ended_at=row.ended_at,
        )
        for row in rows[:limit]
    )
    return ProjectList(lines, lines[-1].ref.task if len(rows) > limit else None)


def project_view(connection: Connection, ref: Ref) -> ProjectView:
    """A project with all its tasks. Raises Rejected where the reference names none."""
    task_id = require_task(connection, ref)
    row = connection.execute(_TASK, {"task_id": task_id}).one()
    policy = from_json(Policy, row.policy)
    if not policy.project:
        raise Rejected(
            f"T{task_id} is not a project: nobody has planned it as one",
            stage="input",
            next_step=NextStep.of("task show", Ref(task_id)),
        )
    stored = projects.find(connection, task_id)
    course = _course(connection, row.run_id)
    tasks = _tasks(course, policy, None if stored is None else stored.plan)
    current = next((task.id for task in tasks if task.status in {"running", "review"}), None)
    plan = ProjectPlan(
        project_goal=row.prompt,
        tasks=tasks,
        analysis=_analysis(stored),
        status=_status(TaskPhase(row.phase), paused=row.paused),
        created_at=row.created_at,
        updated_at=row.created_at if stored is None else stored.updated_at,
        current_task_id=current,
        completion_report="" if stored is None else stored.completion_report,
    )
    steps = {each.step.key: each for each in course}
    spent = spending(connection, task_id)
    return ProjectView(
        ref=Ref(task_id),
        phase=row.phase,
        reason=row.reason,
        repository=row.target,
        plan=plan,
        places={
            key: Ref(task_id, step=each.step.ordinal, target=row.target)
            for key, each in steps.items()
        },
        reviewers={
            key: each.review.reviewer for key, each in steps.items() if each.review is not None
        },
        head=row.head,
        accepted=row.accepted,
        checkpoint=_checkpoint(connection, row.run_id),
        interventions=list_interventions(connection, task_id=task_id),
        tokens=spent.tokens,
        cost=spent.cost,
        created_at=row.created_at,
        ended_at=row.ended_at,
    )


def not_a_project(repository: str) -> Rejected:
    """The refusal of a goal that names no repository."""
    return Rejected(
        f"{repository!r} is not a repository: a project happens in one",
        stage="input",
        next_step=NextStep.of("repo add", Blank("NAME"), path=Blank("FOLDER")),
    )


def _status(phase: TaskPhase, *, paused: bool) -> Any:
    """The state of S3.46."""
    if phase is TaskPhase.DONE:
        return "completed"
    if phase in ENDED_TASK:
        return "failed"
    return "paused" if paused else "active"


def _analysis(stored: projects.StoredProject | None) -> ProjectAnalysis | None:
    return None if stored is None else stored.plan.analysis


@dataclass(frozen=True, slots=True)
class _Course:
    """A step of a project, with everything that has become of it; `needs` are names of steps."""

    step: Step
    row: Any
    needs: tuple[str, ...]
    rejected: tuple[RejectedDelivery, ...]
    review: StoredReview | None


def _course(connection: Connection, run_id: int) -> list[_Course]:
    """The steps of a run that nothing has replaced, in their order."""
    rows = {row.step: row for row in connection.execute(_STEPS, {"run_id": run_id})}
    if not rows:
        return []
    rejected = rejected_deliveries.by_step(connection, [run_id])
    reviewed = reviews.by_step(connection, run_id)
    steps = [s for s in planned.steps_of(connection, run_id) if s.ordinal in rows]
    keys = {step.ordinal: step.key for step in steps}
    return [
        _Course(
            step,
            rows[step.ordinal],
            tuple(keys[n] for n in step.depends_on if n in keys),
            rejected.get((run_id, step.ordinal), ()),
            reviewed.get(step.ordinal),
        )
        for step in steps
    ]


def _tasks(course: list[_Course], policy: Policy, plan: ProjectPlan | None) -> list[DevTask]:
    """Each step as the development task that it is; before the run begins, those of the manager."""
    if not course:
        return [] if plan is None else list(plan.tasks)
    known = {} if plan is None else {task.id: task for task in plan.tasks}
    return [_task(each, known.get(each.step.key), policy) for each in course]


def _task(course: _Course, known: DevTask | None, policy: Policy) -> DevTask:
    step, row, rejected, review = course.step, course.row, course.rejected, course.review
    attempt = (row.delivered or 0) + (row.phase == StepPhase.RUNNING)
    attempt = max(attempt, 0 if row.started_at is None else 1)
    status = _state(StepPhase(row.phase), row, rejected)
    ended = {"approved": row.settled_at, "failed": row.changed_at}.get(status)
    said = None if review is None else review.result
    return DevTask(
        id=step.key,
        title=step.title,
        description=step.instruction if known is None else known.description,
        acceptance_criteria=_criteria(step) if known is None else known.acceptance_criteria,
        depends_on=list(course.needs),
        status=status,
        attempt=attempt,
        max_attempts=max(attempt, policy.max_delivery_attempts),
        dev_report=_report(row.deliverables or {}),
        review_verdict=_verdict(said),
        review_comments=[] if said is None else said.comments,
        rejection_history=list(map(str, rejected)),
        started_at=row.started_at,
        completed_at=_not_before(ended, row.started_at),
    )


def _state(phase: StepPhase, row: Any, rejected: Sequence[RejectedDelivery]) -> Any:
    """The state of X16."""
    if phase in _APPROVED:
        return "approved"
    if phase in _FAILED:
        return "failed"
    if phase is StepPhase.ACCEPTING or row.waits_for == "acceptance":
        return "review"
    if rejected and phase is not StepPhase.RUNNING:
        return "rejected"
    return "pending" if phase in _UNBEGUN else "running"


def _verdict(review: ReviewResult | None) -> Literal["approved", "rejected"] | None:
    if review is None:
        return None
    return "approved" if review.approved else "rejected"


def _criteria(step: Step) -> list[str]:
    works = (subtask.agent for subtask in step.subtasks if subtask.agent is not None)
    return [line for work in works for line in work.acceptance]


def _report(deliverables: Mapping[str, Any]) -> str:
    """What the author says about its newest delivery."""
    said = deliverables.get("summary", ())
    return said if isinstance(said, str) else "\n".join(map(str, said))


def _not_before(ended: datetime | None, begun: datetime | None) -> datetime | None:
    return ended if ended is None or begun is None else max(ended, begun)


def _checkpoint(connection: Connection, run_id: int) -> PublishedHead | None:
    row = connection.execute(_CHECKPOINT, {"run_id": run_id}).one_or_none()
    if row is None:
        return None
    return PublishedHead(
        row.number, row.status, row.remote, row.ref, row.head_remote, row.finished_at
    )
