"""Steps in a run: their phases, counters, subtasks, revisions and attempts."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select, text

from orchestrator.core.state import WaitsFor
from orchestrator.views import exchange
from orchestrator.views.attempts import AttemptLine, attempts_by_step
from orchestrator.views.escalations import Escalation, escalations
from orchestrator.views.failures import TROUBLED, Failure, newest_failures
from orchestrator.views.interventions import InterventionView, list_interventions
from orchestrator.views.places import RunPlace, require_step
from orchestrator.views.values import AuthorValue, RefValue
from shared.contracts.exchange import ExecutorRequest, ExecutorResponse
from shared.domain.author import Author, PlanningRole
from shared.domain.config import Policy
from shared.domain.ids import Ref
from shared.domain.outcome import GREEN
from shared.domain.plan import DroppedCheck, OnFailure, Recovery, Step, Subtask
from shared.domain.task import COARSE, StepPhase
from shared.store import planned
from shared.store.tables import RevisionRow, RunRow, RunStepRow, TaskRow
from shared.wire import from_json

OPEN = "open"
"""The status of a subtask without attempts under the current revision."""

_LATEST = text("""
    SELECT DISTINCT ON (a.run_id, a.step, a.subtask) a.run_id, a.step, a.subtask, a.outcome
    FROM attempts a
    JOIN run_steps s ON s.run_id = a.run_id AND s.step = a.step AND s.revision = a.revision
    WHERE a.run_id = ANY(CAST(:run_ids AS bigint[])) AND NOT a.look
    ORDER BY a.run_id, a.step, a.subtask, a.id DESC
""")

_SIZES = text("""
    SELECT s.run_id, s.step,
           coalesce(jsonb_array_length(r.subtasks),
                    jsonb_array_length(p.body -> 'subtasks'), 0) AS subtasks,
           p.body ->> 'repository' AS repository
    FROM run_steps s
    LEFT JOIN revisions r ON r.run_id = s.run_id AND r.step = s.step AND r.revision = s.revision
    LEFT JOIN planned_steps p ON p.run_id = s.run_id AND p.step = s.step
    WHERE s.run_id = ANY(CAST(:run_ids AS bigint[]))
""")


_COUNTED = text("""
    SELECT s.run_id, s.step, count(*) AS errors
    FROM run_steps s
    JOIN attempts a ON a.run_id = s.run_id AND a.step = s.step
         AND a.revision = s.revision AND a.pass_no = s.pass_no AND a.counted
    WHERE s.run_id = ANY(CAST(:run_ids AS bigint[])) AND s.phase IN ('ready', 'running')
    GROUP BY s.run_id, s.step
""")
"""The errors of the pass under way; the step's row has them only after its end."""


@dataclass(frozen=True, slots=True)
class StepLine:
    """A step in a run. `state` is its phase in the four words of S1.22.

    `errors` are those under the current revision (S0.45), including the pass under way, and
    `threshold` is their limit; `done` and `subtasks` count the subtasks of that revision. A `bare`
    step has none yet: it is detailed when its turn comes. `repository` is where it happens, None
    for the target of its run. `failure` is its newest command that failed and was not put right,
    unless the step is done or has not begun.
    """

    ref: RefValue
    run_id: int
    ordinal: int
    title: str
    phase: StepPhase
    state: str
    author: AuthorValue
    revision: int
    pass_no: int
    errors: int
    threshold: int
    done: int
    subtasks: int
    depends_on: tuple[int, ...]
    recovery: Recovery
    on_failure: OnFailure
    reason: str
    changed_at: datetime
    bare: bool = False
    repository: str | None = None
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class SubtaskView:
    """A subtask as planned, and the outcome of its latest attempt under the current revision."""

    ref: RefValue
    status: str
    planned: Subtask


@dataclass(frozen=True, slots=True)
class RevisionView:
    """The n-th list of subtasks of a step, its author and reason; 0 is the first plan (S0.94).

    `rollback` names subtasks of earlier lists to undo first, if they ran; `dropped_checks` are the
    acceptance checks of the first plan that this list gives up.
    """

    revision: int
    author: AuthorValue
    reason: str
    created_at: datetime | None
    subtasks: tuple[Subtask, ...]
    rollback: tuple[str, ...] = ()
    dropped_checks: tuple[DroppedCheck, ...] = ()


@dataclass(frozen=True, slots=True)
class StepView:
    """A step in a run, in full; `bundles` are the revisions that have evidence to show.

    `escalations` say who received the evidence of each pass. `request` and `response` are those of
    the latest pass, None before there is one. `question` was asked before the step began, and
    `answer` is a person's.
    """

    step: StepLine
    instruction: str
    subtasks: tuple[SubtaskView, ...]
    revisions: tuple[RevisionView, ...]
    attempts: tuple[AttemptLine, ...]
    bundles: tuple[int, ...]
    interventions: tuple[InterventionView, ...]
    question: str = ""
    answer: str | None = None
    request: ExecutorRequest | None = None
    response: ExecutorResponse | None = None
    escalations: tuple[Escalation, ...] = ()


def step_lines(
    connection: Connection, task_id: int, run_ids: Sequence[int], *, threshold: int
) -> dict[int, tuple[StepLine, ...]]:
    """The steps of each run, in order."""
    chosen = {"run_ids": list(run_ids)}
    outcomes: dict[tuple[int, int], list[str]] = defaultdict(list)
    for row in connection.execute(_LATEST, chosen):
        outcomes[row.run_id, row.step].append(row.outcome)
    planned_rows = {(row.run_id, row.step): row for row in connection.execute(_SIZES, chosen)}
    errors = {(row.run_id, row.step): row.errors for row in connection.execute(_COUNTED, chosen)}
    lines: dict[int, list[StepLine]] = {run_id: [] for run_id in run_ids}
    rows = connection.execute(
        select(RunStepRow.__table__, RunRow.target)
        .join(RunRow, RunRow.id == RunStepRow.run_id)
        .where(RunStepRow.run_id.in_(run_ids))
        .order_by(RunStepRow.run_id, RunStepRow.step)
    ).all()
    troubled = {(row.run_id, row.step) for row in rows if row.phase in TROUBLED}
    failures = newest_failures(connection, troubled)
    for row in rows:
        place = row.run_id, row.step
        green = sum(outcome in GREEN for outcome in outcomes[place])
        known = planned_rows.get(place)
        lines[row.run_id].append(
            replace(
                _line(row, task_id, threshold, done=green, subtasks=known.subtasks if known else 0),
                errors=row.errors + errors.get(place, 0),
                repository=known.repository if known else None,
                failure=failures.get(place),
            )
        )
    return {run_id: tuple(listed) for run_id, listed in lines.items()}


def step_view(connection: Connection, ref: Ref) -> StepView:
    """A step with its history; raises Rejected when there is none."""
    place, ordinal = require_step(connection, ref)
    return step_views(connection, place.task_id, [place], step=ordinal)[0]


def step_views(
    connection: Connection, task_id: int, places: Sequence[RunPlace], *, step: int | None = None
) -> tuple[StepView, ...]:
    """Every step of these runs of a task, or one step of each, run by run.

    The number of SQL statements does not depend on the number of steps and runs.
    """
    policy_row, prompt, improved = connection.execute(
        select(TaskRow.policy, TaskRow.prompt, TaskRow.improved_prompt).where(TaskRow.id == task_id)
    ).one()
    policy = from_json(Policy, policy_row)
    run_ids = [place.run_id for place in places]
    lines = step_lines(connection, task_id, run_ids, threshold=policy.error_threshold_per_step)
    plans = planned.steps_of_runs(connection, run_ids, step=step)
    revisions = _revisions(connection, run_ids, plans, step)
    attempts = attempts_by_step(connection, places, step=step)
    gathered = escalations(connection, run_ids, step=step)
    waiting = list_interventions(connection, task_id=task_id)
    return tuple(
        _step_view(
            line,
            plans[run_id, line.ordinal],
            policy,
            improved or prompt,
            revisions=revisions[run_id, line.ordinal],
            attempts=attempts.get((run_id, line.ordinal), ()),
            gathered=gathered.get((run_id, line.ordinal), ()),
            waiting=tuple(each for each in waiting if each.ref == line.ref),
        )
        for run_id in run_ids
        for line in lines[run_id]
        if step in {None, line.ordinal}
    )


def _step_view(
    line: StepLine,
    step: Step,
    policy: Policy,
    prompt: str,
    *,
    revisions: tuple[RevisionView, ...],
    attempts: tuple[AttemptLine, ...],
    gathered: tuple[Escalation, ...],
    waiting: tuple[InterventionView, ...],
) -> StepView:
    current = tuple(a for a in attempts if a.revision == line.revision)
    subtasks = revisions[-1].subtasks
    request = exchange.request(
        step,
        subtasks,
        policy,
        ref=str(line.ref),
        key=f"{line.run_id}-{line.ordinal}-{line.revision}-{line.pass_no}",
        prompt=prompt,
    )
    return StepView(
        step=line,
        instruction=step.instruction,
        subtasks=_subtasks(line.ref, subtasks, current),
        revisions=revisions,
        attempts=attempts,
        bundles=tuple(dict.fromkeys(each.revision for each in gathered)),
        interventions=waiting,
        question=step.ask_question,
        answer=step.answer,
        request=request if line.pass_no else None,
        response=exchange.response(
            str(line.ref),
            line.phase,
            line.reason,
            attempts=current,
            subtasks=subtasks,
            waiting=waiting,
        ),
        escalations=gathered,
    )


def held_pass(connection: Connection, run_id: int, step: int) -> int | None:
    """The pass whose evidence waits to be sent to the author of the step, if any."""
    query = select(RunStepRow.pass_no).where(
        RunStepRow.run_id == run_id,
        RunStepRow.step == step,
        RunStepRow.waits_for == WaitsFor.SENDING.value,
    )
    return connection.execute(query).scalar_one_or_none()


def _revisions(
    connection: Connection,
    run_ids: Sequence[int],
    plans: Mapping[tuple[int, int], Step],
    step: int | None,
) -> Mapping[tuple[int, int], tuple[RevisionView, ...]]:
    """All lists of subtasks of each step, the planned one first."""
    query = select(RevisionRow.__table__).where(RevisionRow.run_id.in_(run_ids))
    if step is not None:
        query = query.where(RevisionRow.step == step)
    found = {
        place: [RevisionView(0, planned.author, "", None, planned.subtasks)]
        for place, planned in plans.items()
    }
    for row in connection.execute(query.order_by(RevisionRow.revision)):
        found[row.run_id, row.step].append(
            RevisionView(
                revision=row.revision,
                author=_author(row),
                reason=row.reason,
                created_at=row.created_at,
                subtasks=tuple(from_json(Subtask, subtask) for subtask in row.subtasks),
                rollback=tuple(row.rollback),
                dropped_checks=tuple(from_json(DroppedCheck, d) for d in row.dropped_checks),
            )
        )
    return {place: tuple(listed) for place, listed in found.items()}


def _author(row: Any) -> Author:
    return Author(PlanningRole(row.author_role), row.author_backend)


def _line(row: Any, task_id: int, threshold: int, *, done: int, subtasks: int) -> StepLine:
    phase = StepPhase(row.phase)
    return StepLine(
        ref=Ref(task_id, step=row.step, target=row.target),
        run_id=row.run_id,
        ordinal=row.step,
        title=row.title,
        phase=phase,
        state=COARSE[phase],
        author=_author(row),
        revision=row.revision,
        pass_no=row.pass_no,
        errors=row.errors,
        threshold=threshold,
        done=done,
        subtasks=subtasks,
        depends_on=tuple(row.depends_on),
        recovery=Recovery(row.recovery),
        on_failure=OnFailure(row.on_failure),
        reason=row.reason,
        changed_at=row.changed_at,
        bare=row.bare,
    )


def _subtasks(
    step: Ref, subtasks: Sequence[Subtask], attempts: Sequence[AttemptLine]
) -> tuple[SubtaskView, ...]:
    """Each subtask with the outcome of its latest attempt under the current revision."""
    latest = {attempt.ref.subtask: attempt.outcome for attempt in attempts}
    return tuple(
        SubtaskView(
            ref=replace(step, subtask=subtask.ordinal),
            status=latest.get(subtask.ordinal, OPEN),
            planned=subtask,
        )
        for subtask in subtasks
    )
