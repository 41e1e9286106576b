"""The tables of what waits for a person, and of what a person has said about it."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from shared.store.row import Row, now, number


class InterventionRow(Row):
    """Something that waits for a human.

    `asked` holds the texts to approve, if any; `options` the answers to choose from, if there are
    any; `records` what a host has recorded and the database does not know, and `unpaid` what an
    agent could not pay.
    """

    __tablename__ = "interventions"

    id: Mapped[int] = number()
    task_id: Mapped[int] = mapped_column(ForeignKey("tasks.id", ondelete="CASCADE"))
    run_id: Mapped[int | None] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    step: Mapped[int | None]
    kind: Mapped[str]
    stage: Mapped[str]
    reason: Mapped[str]
    next_step: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    asked: Mapped[list[Any]] = mapped_column(server_default=text("'[]'::jsonb"))
    options: Mapped[list[Any]] = mapped_column(server_default=text("'[]'::jsonb"))
    records: Mapped[list[Any]] = mapped_column(server_default=text("'[]'::jsonb"))
    unpaid: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    opened_at: Mapped[datetime] = now()
    closed_at: Mapped[datetime | None]

    __table_args__ = (
        Index("ix_interventions_open", "task_id", postgresql_where=text("closed_at IS NULL")),
    )


class SettledClaimRow(Row):
    """What a person says about the records of a claim that the database does not know.

    It holds for the pass that was at hand; see `shared.domain.records`.
    """

    __tablename__ = "settled_claims"

    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True)
    token: Mapped[str] = mapped_column(primary_key=True)
    pass_no: Mapped[int] = mapped_column(primary_key=True)
    answer: Mapped[str]
    settled_at: Mapped[datetime] = now()


class UnknownPassRow(Row):
    """A pass under which a host ran something that the database does not know.

    The last check of the host has found it.
    """

    __tablename__ = "unknown_passes"

    host: Mapped[str] = mapped_column(primary_key=True)
    claim: Mapped[str] = mapped_column(primary_key=True)
    task_id: Mapped[int]
    step: Mapped[int]
    target: Mapped[str]
    revision: Mapped[int]
    pass_no: Mapped[int]
    found_at: Mapped[datetime] = now()


class ApprovalRow(Row):
    """A person's approval of one digest, for one use (`once`) or as often as its `task` needs it.

    Only the coordinator writes one, for a person's fact. A worker records its use: `used_by` is the
    key of the first attempt that used it, the only one for `once`. For the scope `rule`, `rule` is
    what it allows.
    """

    __tablename__ = "approvals"

    id: Mapped[int] = number()
    task_id: Mapped[int] = mapped_column(ForeignKey("tasks.id", ondelete="CASCADE"))
    digest: Mapped[str]
    scope: Mapped[str]
    given_by: Mapped[str]
    given_at: Mapped[datetime] = now()
    expires_at: Mapped[datetime]
    signature: Mapped[str]
    used_at: Mapped[datetime | None]
    used_by: Mapped[str | None]
    rule: Mapped[str] = mapped_column(server_default=text("''"))

    __table_args__ = (Index("ix_approvals_task_id", "task_id", "digest"),)
