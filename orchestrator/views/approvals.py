"""What a person is asked to approve, exactly as it would run, and what the person decided."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, func, select, text

from orchestrator.proposals.obstacles import Obstacle
from orchestrator.views.failures import Failure
from orchestrator.views.values import RefValue
from shared.domain.agent import AgentWork
from shared.domain.approval import ApprovalRequest, SubtaskPart
from shared.domain.host import ConnectionKind, Host
from shared.domain.ids import Ref
from shared.domain.preview import Preview
from shared.domain.target import Repository
from shared.wire import from_json

_ANSWERED = text("""
    SELECT asked.id, told.kind, coalesce(told.body ->> 'denied_by', told.body ->> 'given_by',
        told.body ->> 'allowed_by', told.body ->> 'rejected_by',
        told.body -> 'approvals' -> 0 ->> 'given_by') AS by
    FROM interventions asked
    JOIN LATERAL (
        SELECT kind, body FROM events
        WHERE events.task_id = asked.task_id AND at >= asked.opened_at - interval '1 second' AND (
            kind IN ('CommandsApproved', 'ApprovalDenied', 'DeliveryAllowed', 'DeliveryRejected')
                AND (body ->> 'intervention')::bigint = asked.id
            OR kind = 'PlanApproved' AND asked.kind = 'plan_approval'
                AND (asked.closed_at IS NULL OR at <= asked.closed_at)
        )
        ORDER BY events.id LIMIT 1
    ) AS told ON true
    WHERE asked.id = ANY(CAST(:ids AS bigint[]))
""")


class ApprovalAnswer(StrEnum):
    """What a person can answer to a request for approval."""

    APPROVED = "approved"
    DENIED = "denied"
    ACCEPTED = "accepted"  # a delivery
    REJECTED = "rejected"


_ANSWERS = {
    "CommandsApproved": ApprovalAnswer.APPROVED,
    "PlanApproved": ApprovalAnswer.APPROVED,
    "ApprovalDenied": ApprovalAnswer.DENIED,
    "DeliveryAllowed": ApprovalAnswer.ACCEPTED,
    "DeliveryRejected": ApprovalAnswer.REJECTED,
}
"""The answer that each fact holds."""


@dataclass(frozen=True, slots=True)
class Offer:
    """The rules that would have allowed a text: the commands that they allow, and the policy file.

    Where no rule can help, `obstacles` say why.
    """

    commands: tuple[str, ...]
    policy: str
    obstacles: tuple[Obstacle, ...] = ()


@dataclass(frozen=True, slots=True)
class ApprovalView:
    """A text that waits for approval: what would run, where, as whom, and why it waits.

    It runs as `user`, None for the account of the worker; with `sudo` as root instead. `piece` is
    the part that the rule is about; an approval is bound to the `digest`. With `work`,
    the command is the goal of an agent. `repository` is where it happens, None for the host itself.
    `rollback` would undo the command; it is not approved with it. The `preview` shows what it would
    change; None if nobody has looked. `offer` is made where the intervention is shown by itself.
    `failed_before` is how the same text failed there earlier in the task.
    """

    ref: RefValue
    part: SubtaskPart
    command: str
    interpreter: str
    host: str
    address: str
    user: str | None
    sudo: bool
    workdir: str | None
    environment: tuple[str, ...]
    rule: str
    reason: str
    piece: str
    policy: str
    digest: str
    repository: Repository | None = None
    work: AgentWork | None = None
    rollback: str = ""
    preview: Preview | None = None
    offer: Offer | None = None
    failed_before: Failure | None = None


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """A person's answer and who gave it; to a request for approval an `ApprovalAnswer`."""

    answer: str
    by: str


def approval_view(
    asked: ApprovalRequest, before: Mapping[str, Failure] | None = None
) -> ApprovalView:
    """A request for approval as it is shown; `before` has failures by digest."""
    subject = asked.subject
    place, host = subject.place, subject.host
    step, subtask = (None, None) if place is None else (place.step, place.subtask)
    return ApprovalView(
        ref=Ref(subject.task, step, subtask, target=host.name),
        part=asked.part,
        command=subject.command,
        interpreter=subject.interpreter,
        host=host.name,
        address=_address(host),
        user=host.user,
        sudo=host.sudo,
        workdir=host.workdir,
        environment=subject.environment,
        rule=asked.rule,
        reason=asked.reason,
        piece=asked.piece,
        policy=subject.policy,
        digest=subject.digest,
        repository=subject.repository,
        work=subject.work,
        rollback=asked.rollback,
        preview=asked.preview,
        failed_before=(before or {}).get(subject.digest),
    )


def asked_in(row: Any) -> tuple[ApprovalRequest, ...]:
    """The requests in the row of an intervention."""
    return tuple(from_json(ApprovalRequest, asked) for asked in row.asked)


def approval_answers(
    connection: Connection, intervention_ids: Sequence[int]
) -> dict[int, GivenAnswer]:
    """What people answered to those of these interventions that ask for an approval."""
    if not intervention_ids:
        return {}
    found = connection.execute(_ANSWERED, {"ids": list(intervention_ids)})
    return {row.id: GivenAnswer(_ANSWERS[row.kind], row.by or "somebody") for row in found}


def in_seconds(connection: Connection, seconds: float) -> datetime:
    """The time `seconds` from now, by the clock that approvals are checked against."""
    span = func.make_interval(0, 0, 0, 0, 0, 0, seconds)
    at: datetime = connection.execute(select(func.clock_timestamp() + span)).scalar_one()
    return at


def _address(host: Host) -> str:
    return (
        "this machine" if host.connection is ConnectionKind.LOCAL else f"{host.address}:{host.port}"
    )
