"""What waits for a person, and what the person can type."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from orchestrator.core.decisions import InterventionKind
from shared.domain.ids import Ref
from shared.store.tables import InterventionRow, RunRow


@dataclass(frozen=True, slots=True)
class InterventionView:
    """Something that waits for a person, or did until `closed_at`.

    `commands` are what can be typed about it, the most likely first.
    """

    id: int
    ref: str
    kind: str
    stage: str
    reason: str
    commands: tuple[str, ...]
    opened_at: datetime
    closed_at: datetime | None

    @property
    def next_step_cmd(self) -> str:
        """The command to type first."""
        return self.commands[0]


def list_interventions(
    connection: Connection, *, task_id: int | None = None, closed: bool = False
) -> tuple[InterventionView, ...]:
    """Those of a task, or of all; without `closed` only what still waits. Oldest first."""
    query = (
        select(InterventionRow.__table__, RunRow.target)
        .outerjoin(RunRow, RunRow.id == InterventionRow.run_id)
        .order_by(InterventionRow.id)
    )
    if task_id is not None:
        query = query.where(InterventionRow.task_id == task_id)
    if not closed:
        query = query.where(InterventionRow.closed_at.is_(None))
    return tuple(_view(row) for row in connection.execute(query))


def _view(row: Any) -> InterventionView:
    ref = Ref(row.task_id, step=row.step, target=row.target)
    return InterventionView(
        id=row.id,
        ref=str(ref),
        kind=row.kind,
        stage=row.stage,
        reason=row.reason,
        commands=commands(row.kind, ref, row.next_step_cmd),
        opened_at=row.opened_at,
        closed_at=row.closed_at,
    )


def commands(kind: str, ref: Ref, given: str | None) -> tuple[str, ...]:
    """What a person can type about an intervention; `given` is what its cause proposed."""
    usual = _of_step(kind, ref) if ref.step is not None else _of_task(kind, ref)
    proposed = () if given is None or given in usual else (given,)
    return (*proposed, *usual)


def _of_step(kind: str, ref: Ref) -> tuple[str, ...]:
    if kind == InterventionKind.PLAN:
        return (f"replan step revise {ref} --file subtasks.yaml", _resume(ref), _cancel(ref))
    by_hand = f"replan step revise {ref} --file revision.yaml"
    look = f"replan bundle show {ref}"
    send = f"replan step revise {ref} --now"
    abandon = f"replan step abandon {ref}"
    match kind:
        case InterventionKind.HELD_BUNDLE:
            return (send, look, by_hand, abandon, _cancel(ref))
        case InterventionKind.REVISION | InterventionKind.ESCALATION:
            return (by_hand, look, send, _resume(ref), abandon, _cancel(ref))
        case InterventionKind.BLOCKED | InterventionKind.APPROVAL:
            return (by_hand, f"replan step show {ref}", send, abandon, _cancel(ref))
    return (_resume(ref), by_hand, abandon, _cancel(ref))


def _of_task(kind: str, ref: Ref) -> tuple[str, ...]:
    if kind == InterventionKind.PLAN:
        provide = f"replan plan provide T{ref.task} --file plan.yaml"
        return (provide, _resume(ref), _cancel(ref))
    return (_resume(ref), _cancel(ref))


def _resume(ref: Ref) -> str:
    return f"replan task resume T{ref.task}"


def _cancel(ref: Ref) -> str:
    return f"replan task cancel T{ref.task}"
