"""What waits for a person, and the commands that answer it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, and_, or_, select

from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.views import questions as asked
from orchestrator.views.agents import AgentAttempt, newest_of_steps
from orchestrator.views.approvals import (
    ApprovalView,
    GivenAnswer,
    approval_answers,
    approval_view,
    asked_in,
)
from orchestrator.views.causes import newest_causes
from orchestrator.views.failures import ESCALATED, Failure, failures_before, failures_behind
from orchestrator.views.next_steps import next_steps
from orchestrator.views.unknown_outcomes import Evidence, UnknownOutcome, unknown_outcomes
from orchestrator.views.unpaid import UnpaidView, unpaid_of
from orchestrator.views.values import NextStepsValue, RefValue
from shared.domain.approval import ApprovalRequest
from shared.domain.author import PlanningRole
from shared.domain.cause import Cause
from shared.domain.delivery import CheckpointPhase
from shared.domain.errors import Rejected
from shared.domain.ids import Ref
from shared.domain.next_step import Advice, NextStep
from shared.domain.records import HostRecord
from shared.domain.rejected_delivery import RejectedDelivery
from shared.domain.spending import Unpaid
from shared.store import rejected_deliveries
from shared.store.tables import InterventionRow, RunRow, RunStepRow
from shared.wire import decode_next_step, from_json

_DIGITS = 18
_APPROVALS = frozenset(
    {InterventionKind.APPROVAL, InterventionKind.PLAN_APPROVAL, InterventionKind.DELIVERY}
)
_ANSWERED_ONCE = frozenset({InterventionKind.QUESTION, InterventionKind.FORGOTTEN})
_ALL = (
    select(InterventionRow.__table__, RunRow.target, RunRow.checkpoint, RunStepRow.author_role)
    .outerjoin(RunRow, RunRow.id == InterventionRow.run_id)
    .outerjoin(
        RunStepRow,
        and_(RunStepRow.run_id == RunRow.id, RunStepRow.step == InterventionRow.step),
    )
    .order_by(InterventionRow.id)
)


@dataclass(frozen=True, slots=True)
class InterventionView:
    """Something that waits for a person, or did until `closed_at`.

    `next_steps` are the commands that help, the most likely first. The kind `unknown` has
    `evidence`, the kind `approval` the texts that are `wanted`; once answered, both have the
    `answer`, an approval also who it was `answered_by`. The kind `question` asks its `reason`;
    `options` are the answers to choose from, or empty when any answer is allowed. With an `asker`
    it is an agent's, and its options are suggestions. The kind `forgotten` has `records`, which a
    host has and the database does not know. `causes` are what the host says is wrong, where
    evidence was gathered before a person was asked. `agent` is the newest attempt of the step, if
    an agent made it and it waits; `unpaid` is what an agent could not pay. `rejected` is why the
    newest delivery of the step that came back was rejected, while it waits. `failure` is what
    failed in its step, if that is why it was opened, while it waits.
    """

    id: int
    ref: RefValue
    kind: InterventionKind
    stage: str
    reason: str
    next_steps: NextStepsValue
    opened_at: datetime
    closed_at: datetime | None
    evidence: Evidence | None = None
    answer: str | None = None
    wanted: tuple[ApprovalView, ...] = ()
    answered_by: str | None = None
    options: tuple[str, ...] = ()
    records: tuple[HostRecord, ...] = ()
    causes: tuple[Cause, ...] = ()
    agent: AgentAttempt | None = None
    asker: asked.Asker | None = None
    unpaid: UnpaidView | None = None
    rejected: RejectedDelivery | None = None
    failure: Failure | None = None

    @property
    def name(self) -> str:
        """What a person calls it: `I7`."""
        return f"I{self.id}"

    @property
    def approvable(self) -> bool:
        """Whether it waits for a person to approve texts."""
        waits = self.closed_at is None
        return waits and self.kind is InterventionKind.APPROVAL and bool(self.wanted)

    @property
    def adoptable(self) -> bool:
        """Whether its records can become those of the pass: it would run the same texts."""
        return bool(self.records) and not any(record.differs for record in self.records)

    @property
    def next_step(self) -> Advice:
        """What to do first."""
        return self.next_steps[0]


@dataclass(frozen=True, slots=True)
class InterventionList:
    """Interventions, oldest first; there are more after `next`, unless it is None."""

    interventions: tuple[InterventionView, ...]
    next: int | None = None


def page_of_interventions(
    connection: Connection, *, limit: int, task_id: int | None = None, after: int | None = None
) -> InterventionList:
    """What still waits, of a task or of all, at most `limit`; with `after`, what follows it."""
    query = _ALL.where(InterventionRow.closed_at.is_(None), InterventionRow.id > (after or 0))
    if task_id is not None:
        query = query.where(InterventionRow.task_id == task_id)
    rows = connection.execute(query.limit(limit + 1)).all()
    views = _views(connection, rows[:limit])
    return InterventionList(views, next=views[-1].id if len(rows) > limit else None)


def list_interventions(
    connection: Connection, *, task_id: int | None = None, closed: bool = False
) -> tuple[InterventionView, ...]:
    """The interventions of a task or of all, oldest first; without `closed`, only open ones."""
    query = _ALL
    if task_id is not None:
        query = query.where(InterventionRow.task_id == task_id)
    if not closed:
        query = query.where(InterventionRow.closed_at.is_(None))
    return _views(connection, connection.execute(query).all())


def interventions_since(
    connection: Connection, task_id: int, after: int, also: Sequence[int]
) -> tuple[InterventionView, ...]:
    """Those of a task with a greater number than `after`, and those in `also`; closed ones too."""
    newer = or_(InterventionRow.id > after, InterventionRow.id.in_(also))
    rows = connection.execute(_ALL.where(InterventionRow.task_id == task_id, newer)).all()
    return _views(connection, rows)


def _views(connection: Connection, rows: Sequence[Any]) -> tuple[InterventionView, ...]:
    unknown = [row.id for row in rows if row.kind == InterventionKind.UNKNOWN]
    known = unknown_outcomes(connection, unknown)
    said = approval_answers(connection, [row.id for row in rows if row.kind in _APPROVALS])
    said |= asked.answers(connection, [row.id for row in rows if row.kind in _ANSWERED_ONCE])
    askers = asked.askers(
        connection, [row.id for row in rows if row.kind == InterventionKind.QUESTION]
    )
    escalated = {row.id: (row.run_id, row.step) for row in rows if row.kind in ESCALATED}
    causes = newest_causes(connection, {place for place in escalated.values() if None not in place})
    open_at = {row.id: (row.run_id, row.step) for row in rows if row.closed_at is None}
    failures = failures_behind(connection, [row for row in rows if row.id in open_at])
    before = failures_before(
        connection, [asks for r in rows if r.id in open_at for asks in asked_in(r)]
    )
    agents = newest_of_steps(connection, {at for at in open_at.values() if None not in at})
    open_runs = {run_id for run_id, step in open_at.values() if None not in (run_id, step)}
    rejected = rejected_deliveries.by_step(connection, sorted(open_runs)) if open_runs else {}
    return tuple(
        _view(
            row,
            known.get(row.id, UnknownOutcome()),
            said.get(row.id),
            causes.get(escalated.get(row.id, (0, 0)), ()),
            agent=agents.get(open_at.get(row.id, (0, 0))),
            asker=askers.get(row.id),
            rejected=rejected.get(open_at.get(row.id, (0, 0)), (None,))[-1],
            failure=failures.get(row.id),
            before=before,
        )
        for row in rows
    )


def intervention(connection: Connection, name: str) -> InterventionView:
    """The intervention called `I7` or `7`; raises Rejected when there is none."""
    return _views(connection, [_row(connection, name)])[0]


def asked_of(connection: Connection, name: str) -> tuple[ApprovalRequest, ...]:
    """What the intervention asks a person to approve; empty when it asks something else."""
    return asked_in(_row(connection, name))


def _row(connection: Connection, name: str) -> Any:
    number = name.upper().removeprefix("I")
    if not (number.isascii() and number.isdecimal()) or len(number) > _DIGITS:
        raise Rejected(
            f"{name!r} is not a valid intervention; write it as I7",
            stage="input",
            next_step=NextStep.of("intervention list"),
        )
    row = connection.execute(_ALL.where(InterventionRow.id == int(number))).one_or_none()
    if row is None:
        raise Rejected(
            f"there is no intervention I{int(number)}",
            stage="input",
            next_step=NextStep.of("intervention list"),
        )
    return row


def _view(
    row: Any,
    question: UnknownOutcome,
    word: GivenAnswer | None,
    causes: tuple[Cause, ...],
    *,
    agent: AgentAttempt | None,
    asker: asked.Asker | None,
    rejected: RejectedDelivery | None,
    failure: Failure | None,
    before: Mapping[str, Failure],
) -> InterventionView:
    ref = Ref(row.task_id, step=row.step, target=row.target)
    records = tuple(from_json(HostRecord, record) for record in row.records)
    return InterventionView(
        id=row.id,
        ref=ref,
        kind=InterventionKind(row.kind),
        stage=row.stage,
        reason=row.reason,
        next_steps=next_steps(
            row.kind,
            ref,
            decode_next_step(row.next_step),
            number=row.id,
            approvable=bool(row.asked),
            adoptable=not any(record.differs for record in records),
            options=row.options,
            any_text=asker is not None,
            delivered=rejected is not None,
            unpaid=None if row.unpaid is None else from_json(Unpaid, row.unpaid),
            stopped=(row.checkpoint or {}).get("phase") == CheckpointPhase.WAITING,
            by_hand=row.author_role == PlanningRole.HUMAN,
        ),
        opened_at=row.opened_at,
        closed_at=row.closed_at,
        evidence=question.evidence,
        answer=question.answer if word is None else word.answer,
        wanted=tuple(approval_view(each, before) for each in asked_in(row)),
        answered_by=None if word is None else word.by,
        options=tuple(row.options),
        records=records,
        causes=causes,
        unpaid=unpaid_of(row, ref),
        agent=agent,
        asker=asker,
        rejected=rejected,
        failure=failure,
    )
