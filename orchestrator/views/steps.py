"""Steps in a run: their phases, counters, subtasks, revisions and attempts."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, and_, select, text

from orchestrator.core.state import WaitsFor
from orchestrator.views import exchange
from orchestrator.views.attempts import AttemptLine, attempts_of_step
from orchestrator.views.interventions import InterventionView, list_interventions
from orchestrator.views.places import RunPlace, require_step
from orchestrator.views.values import AuthorValue, RefValue
from shared.contracts.exchange import ExecutorRequest, ExecutorResponse
from shared.domain.attempt import GREEN
from shared.domain.config import Policy
from shared.domain.ids import Ref
from shared.domain.plan import Author, OnFailure, Recovery, Role, Step, Subtask
from shared.domain.task import COARSE, StepPhase
from shared.store import planned
from shared.store.tables import BundleRow, RevisionRow, RunRow, RunStepRow, TaskRow
from shared.wire import from_json

OPEN = "open"
"""The status of a subtask that nobody has tried under the present revision."""

_LATEST = text("""
    SELECT DISTINCT ON (a.run_id, a.step, a.subtask) a.run_id, a.step, a.subtask, a.outcome
    FROM attempts a
    JOIN run_steps s ON s.run_id = a.run_id AND s.step = a.step AND s.revision = a.revision
    WHERE a.run_id = ANY(CAST(:run_ids AS bigint[]))
    ORDER BY a.run_id, a.step, a.subtask, a.id DESC
""")

_SIZES = text("""
    SELECT s.run_id, s.step,
           coalesce(jsonb_array_length(r.subtasks),
                    jsonb_array_length(p.body -> 'subtasks'), 0) AS subtasks
    FROM run_steps s
    LEFT JOIN revisions r ON r.run_id = s.run_id AND r.step = s.step AND r.revision = s.revision
    LEFT JOIN planned_steps p ON p.run_id = s.run_id AND p.step = s.step
    WHERE s.run_id = ANY(CAST(:run_ids AS bigint[]))
""")


@dataclass(frozen=True, slots=True)
class StepLine:
    """A step in a run. `state` is its phase in the four words of S1.22.

    `errors` are those counted under the present revision, of `threshold` allowed; `done` and
    `subtasks` count the subtasks of the present revision.
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


@dataclass(frozen=True, slots=True)
class SubtaskView:
    """A subtask as planned, and the outcome of its latest attempt under this revision."""

    ref: RefValue
    status: str
    planned: Subtask


@dataclass(frozen=True, slots=True)
class RevisionView:
    """The n-th list of subtasks of a step, who gave it and why; 0 is the first plan (S0.94).

    `rollback` are the keys of subtasks of earlier lists that it has undone first, if they ran.
    """

    revision: int
    author: AuthorValue
    reason: str
    created_at: datetime | None
    subtasks: tuple[Subtask, ...]
    rollback: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepView:
    """A step in a run, whole; `bundles` are the revisions whose evidence can be looked at.

    `request` is what the executor of its latest pass was asked, `response` how that ended; None
    before there is such. `question` was asked before it began, and `answer` is a person's.
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


def step_lines(
    connection: Connection, task_id: int, run_ids: Sequence[int], *, threshold: int
) -> dict[int, tuple[StepLine, ...]]:
    """The steps of each run, in order."""
    chosen = {"run_ids": list(run_ids)}
    outcomes: dict[tuple[int, int], list[str]] = defaultdict(list)
    for row in connection.execute(_LATEST, chosen):
        outcomes[row.run_id, row.step].append(row.outcome)
    sizes = {(row.run_id, row.step): row.subtasks for row in connection.execute(_SIZES, chosen)}
    lines: dict[int, list[StepLine]] = {run_id: [] for run_id in run_ids}
    for row in connection.execute(
        select(RunStepRow.__table__, RunRow.target)
        .join(RunRow, RunRow.id == RunStepRow.run_id)
        .where(RunStepRow.run_id.in_(run_ids))
        .order_by(RunStepRow.run_id, RunStepRow.step)
    ):
        place = row.run_id, row.step
        green = sum(outcome in GREEN for outcome in outcomes[place])
        lines[row.run_id].append(
            _line(row, task_id, threshold, done=green, subtasks=sizes.get(place, 0))
        )
    return {run_id: tuple(listed) for run_id, listed in lines.items()}


def step_view(connection: Connection, ref: Ref) -> StepView:
    """A step with its history; raises Rejected when there is none."""
    place, ordinal = require_step(connection, ref)
    policy, prompt, improved = connection.execute(
        select(TaskRow.policy, TaskRow.prompt, TaskRow.improved_prompt).where(
            TaskRow.id == place.task_id
        )
    ).one()
    threshold = int(policy["error_threshold_per_step"])
    lines = step_lines(connection, place.task_id, [place.run_id], threshold=threshold)
    line = next(line for line in lines[place.run_id] if line.ordinal == ordinal)
    step = planned.step_of(connection, place.run_id, ordinal)
    revisions = revisions_of(connection, place.run_id, step)
    open_here = list_interventions(connection, task_id=place.task_id)
    waiting = tuple(i for i in open_here if i.ref == line.ref)
    attempts = attempts_of_step(connection, place, ordinal)
    current = tuple(a for a in attempts if a.revision == line.revision)
    subtasks = revisions[-1].subtasks
    request = exchange.request(
        step,
        subtasks,
        from_json(Policy, policy),
        ref=str(line.ref),
        key=f"{place.run_id}-{ordinal}-{line.revision}-{line.pass_no}",
        prompt=improved or prompt,
    )
    return StepView(
        step=line,
        instruction=step.instruction,
        subtasks=_subtasks(connection, place, ordinal, revisions[-1]),
        revisions=revisions,
        attempts=attempts,
        bundles=_bundles(connection, place.run_id, ordinal),
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
    )


def held_pass(connection: Connection, run_id: int, step: int) -> int | None:
    """The pass whose evidence waits to be sent to the author of the step; None for none."""
    query = select(RunStepRow.pass_no).where(
        RunStepRow.run_id == run_id,
        RunStepRow.step == step,
        RunStepRow.waits_for == WaitsFor.SENDING.value,
    )
    return connection.execute(query).scalar_one_or_none()


def revisions_of(connection: Connection, run_id: int, step: Step) -> tuple[RevisionView, ...]:
    """All lists of subtasks of a step in a run, the planned one first."""
    first = RevisionView(
        revision=0,
        author=step.author,
        reason="",
        created_at=None,
        subtasks=step.subtasks,
    )
    found = connection.execute(
        select(RevisionRow.__table__)
        .where(RevisionRow.run_id == run_id, RevisionRow.step == step.ordinal)
        .order_by(RevisionRow.revision)
    )
    later = (
        RevisionView(
            revision=row.revision,
            author=_author(row),
            reason=row.reason,
            created_at=row.created_at,
            subtasks=tuple(from_json(Subtask, subtask) for subtask in row.subtasks),
            rollback=tuple(row.rollback),
        )
        for row in found
    )
    return (first, *later)


def _author(row: Any) -> Author:
    return Author(Role(row.author_role), row.author_backend)


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
    )


def _subtasks(
    connection: Connection, place: RunPlace, step: int, revision: RevisionView
) -> tuple[SubtaskView, ...]:
    latest = {
        row.subtask: row.outcome
        for row in connection.execute(_LATEST, {"run_ids": [place.run_id]})
        if row.step == step
    }
    return tuple(
        SubtaskView(
            ref=Ref(place.task_id, step=step, subtask=s.ordinal, target=place.target),
            status=latest.get(s.ordinal, OPEN),
            planned=s,
        )
        for s in revision.subtasks
    )


def _bundles(connection: Connection, run_id: int, step: int) -> tuple[int, ...]:
    found = connection.execute(
        select(BundleRow.revision)
        .where(and_(BundleRow.run_id == run_id, BundleRow.step == step))
        .order_by(BundleRow.id)
    ).scalars()
    return tuple(dict.fromkeys(found))
