"""What waits for a person, and the commands that answer it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, or_, select

from orchestrator.core.decisions import InterventionKind
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
from orchestrator.views.unknown_outcomes import Evidence, UnknownOutcome, unknown_outcomes
from orchestrator.views.unpaid import UnpaidView, unpaid_of, ways_on
from orchestrator.views.values import NextStepsValue, RefValue
from shared.domain.approval import ApprovalRequest
from shared.domain.cause import Cause
from shared.domain.delivery import CheckpointPhase
from shared.domain.errors import Rejected
from shared.domain.ids import Ref
from shared.domain.next_step import Advice, Blank, NextStep
from shared.domain.records import HostRecord
from shared.domain.rejected_delivery import RejectedDelivery
from shared.domain.spending import Unpaid
from shared.store import rejected_deliveries
from shared.store.tables import InterventionRow, RunRow
from shared.wire import decode_next_step, from_json

_DIGITS = 18
_APPROVALS = frozenset(
    {InterventionKind.APPROVAL, InterventionKind.PLAN_APPROVAL, InterventionKind.DELIVERY}
)
_ESCALATED = frozenset(
    {InterventionKind.ESCALATION, InterventionKind.REVISION, InterventionKind.HELD_BUNDLE}
)
_OF_SESSIONS = frozenset({InterventionKind.DELIVERY, InterventionKind.CHECKPOINT})
_ANSWERED_ONCE = frozenset({InterventionKind.QUESTION, InterventionKind.FORGOTTEN})
_ALL = (
    select(InterventionRow.__table__, RunRow.target, RunRow.checkpoint)
    .outerjoin(RunRow, RunRow.id == InterventionRow.run_id)
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
    newest delivery of the step that came back was rejected, while it waits.
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

    @property
    def name(self) -> str:
        """What a person calls it: `I7`."""
        return f"I{self.id}"

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
    escalated = {row.id: (row.run_id, row.step) for row in rows if row.kind in _ESCALATED}
    causes = newest_causes(connection, {place for place in escalated.values() if None not in place})
    open_at = {row.id: (row.run_id, row.step) for row in rows if row.closed_at is None}
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
        ),
        opened_at=row.opened_at,
        closed_at=row.closed_at,
        evidence=question.evidence,
        answer=question.answer if word is None else word.answer,
        wanted=tuple(map(approval_view, asked_in(row))),
        answered_by=None if word is None else word.by,
        options=tuple(row.options),
        records=records,
        causes=causes,
        unpaid=unpaid_of(row, ref),
        agent=agent,
        asker=asker,
        rejected=rejected,
    )


def next_steps(
    kind: str,
    ref: Ref,
    given: Advice | None,
    *,
    number: int = 0,
    approvable: bool = False,
    adoptable: bool = True,
    options: Sequence[str] = (),
    any_text: bool = False,
    unpaid: Unpaid | None = None,
    delivered: bool = False,
    stopped: bool = False,
) -> tuple[Advice, ...]:
    """What a person can do about intervention `number`; `given` is what its cause suggests.

    A delivery of its step came back if `delivered`; `stopped`: a checkpoint was tried in vain.
    """
    if approvable and ref.step is not None:
        return _of_approval(number, ref)
    if kind == InterventionKind.UNKNOWN and ref.step is not None:
        return _of_unknown(number, ref)
    if kind == InterventionKind.FORGOTTEN and ref.step is not None:
        return _of_forgotten(number, ref, adoptable=adoptable)
    if unpaid is not None and ref.step is not None:
        return ways_on(unpaid, ref)
    if kind == InterventionKind.QUESTION:
        return asked.next_steps(number, ref, options, any_text=any_text)
    if kind in _OF_SESSIONS and ref.target is not None:
        if given is not None:
            return (given, *_of_session(kind, ref, stopped=False))
        return _of_session(kind, ref, stopped=stopped)
    usual = _of_step(kind, ref) if ref.step is not None else _of_task(kind, ref)
    proposed = () if given is None or given in usual else (given,)
    if delivered:
        first, *others = usual
        return (*proposed, first, NextStep.of("delivery show", ref), *others)
    return (*proposed, *usual)


def _of_step(kind: str, ref: Ref) -> tuple[Advice, ...]:
    if kind == InterventionKind.PLAN or ref.target is None:
        return (
            NextStep.of("step revise", ref, file=Blank("subtasks.yaml")),
            _resume(ref),
            _cancel(ref),
        )
    by_hand = NextStep.of("step revise", ref, file=Blank("revision.yaml"))
    look = NextStep.of("bundle show", ref)
    show = NextStep.of("step show", ref)
    send = NextStep.of("bundle send", ref)
    now = NextStep.of("step revise", ref, now=True)
    abandon = NextStep.of("step abandon", ref)
    match kind:
        case InterventionKind.HELD_BUNDLE:
            noted = NextStep.of(
                "bundle send", ref, note=Blank("WHAT ITS PLANNER SHOULD KNOW", text=True)
            )
            return (send, look, noted, by_hand, abandon, _cancel(ref))
        case InterventionKind.ESCALATION:
            return (by_hand, look, _report(ref), send, _resume(ref), abandon, _cancel(ref))
        case InterventionKind.REVISION:
            return (by_hand, look, now, _resume(ref), abandon, _cancel(ref))
        case InterventionKind.ROLLBACK:
            return (show, _resume(ref), by_hand, now, abandon, _cancel(ref))
        case InterventionKind.APPROVAL:  # opened without saying what it asks for
            return (_resume(ref), by_hand, show, now, abandon, _cancel(ref))
        case InterventionKind.BLOCKED:
            return (by_hand, show, now, abandon, _cancel(ref))
        case InterventionKind.SPENDING:
            return (by_hand, look, abandon, _cancel(ref))
    return (_resume(ref), by_hand, abandon, _cancel(ref))


def _of_session(kind: str, ref: Ref, *, stopped: bool) -> tuple[Advice, ...]:
    if kind == InterventionKind.CHECKPOINT:
        again = NextStep.of("checkpoint run", ref, apply=True)
        look = (NextStep.of("checkpoint show", ref),) if stopped else ()
        return (*look, again, NextStep.of("session status", ref), _cancel(ref))
    note = Blank("WHY, AND WHAT TO DO INSTEAD", text=True)
    return (
        NextStep.of("delivery show", ref),
        NextStep.of("accept run", ref, apply=True),
        NextStep.of("accept run", ref, reject=True, note=note, apply=True),
        NextStep.of("step abandon", ref),
        _cancel(ref),
    )


def _of_unknown(number: int, ref: Ref) -> tuple[Advice, ...]:
    return (
        NextStep.of("intervention show", f"I{number}"),
        NextStep.of("intervention answer", f"I{number}", ran=True),
        NextStep.of("intervention answer", f"I{number}", not_run=True),
        NextStep.of("intervention answer", f"I{number}", again=True),
        NextStep.of("step revise", ref, file=Blank("revision.yaml")),
        NextStep.of("step abandon", ref),
        _cancel(ref),
    )


def _of_forgotten(number: int, ref: Ref, *, adoptable: bool) -> tuple[Advice, ...]:
    adopt = NextStep.of("intervention answer", f"I{number}", adopt=True)
    return (
        NextStep.of("intervention show", f"I{number}"),
        *((adopt,) if adoptable else ()),
        NextStep.of("intervention answer", f"I{number}", discard=True),
        NextStep.of("step revise", ref, file=Blank("revision.yaml")),
        NextStep.of("step abandon", ref),
        NextStep.of("doctor"),
        _cancel(ref),
    )


def _of_approval(number: int, ref: Ref) -> tuple[Advice, ...]:
    return (
        NextStep.of("intervention show", f"I{number}"),
        NextStep.of("intervention approve", f"I{number}"),
        NextStep.of("intervention approve", f"I{number}", for_task=True),
        NextStep.of("intervention deny", f"I{number}", note=Blank("WHY", text=True)),
        NextStep.of("step revise", ref, file=Blank("revision.yaml")),
        NextStep.of("step abandon", ref),
        _cancel(ref),
    )


def _of_task(kind: str, ref: Ref) -> tuple[Advice, ...]:
    if kind == InterventionKind.PLAN_APPROVAL:
        approve = NextStep.of("plan approve", f"T{ref.task}")
        provide = NextStep.of("plan provide", f"T{ref.task}", file=Blank("plan.yaml"))
        return (
            NextStep.of("plan approve", f"T{ref.task}", list=True),
            approve,
            provide,
            _cancel(ref),
        )
    if kind == InterventionKind.PLAN:
        provide = NextStep.of("plan provide", f"T{ref.task}", file=Blank("plan.yaml"))
        return (provide, _resume(ref), _cancel(ref))
    return (_resume(ref), _cancel(ref))


def _report(ref: Ref) -> NextStep:
    return NextStep.of("task report", f"T{ref.task}")


def _resume(ref: Ref) -> NextStep:
    return NextStep.of("task resume", f"T{ref.task}")


def _cancel(ref: Ref) -> NextStep:
    return NextStep.of("task cancel", f"T{ref.task}")
