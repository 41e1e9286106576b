"""The tables of the fix memory: what put failed steps right, and where it was used again."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from shared.store.row import Row, now, number


class FixRow(Row):
    """A fix under the signature of its failure and its family of hosts.

    `digest` identifies it: a fix that is learnt twice has one row, and `learnt` counts how often.
    Uses since `counted_from` decide whether it is retired. `words`, `named`, `cues` and `vague` are
    those of the failure, `step` is the digest of the whole step that failed.
    """

    __tablename__ = "fixes"

    id: Mapped[int] = number()
    signature: Mapped[str]
    family: Mapped[str]
    told: Mapped[list[Any]]
    replaced: Mapped[list[Any]]
    replacement: Mapped[list[Any]]
    hosts: Mapped[list[Any]]
    words: Mapped[list[Any]] = mapped_column(server_default=text("'[]'::jsonb"))
    named: Mapped[list[Any]] = mapped_column(server_default=text("'[]'::jsonb"))
    cues: Mapped[list[Any]] = mapped_column(server_default=text("'[]'::jsonb"))
    vague: Mapped[bool] = mapped_column(server_default=text("false"))
    step: Mapped[str] = mapped_column(server_default="")
    reason: Mapped[str]
    author: Mapped[str]
    learnt_from: Mapped[str]
    learnt: Mapped[int] = mapped_column(server_default=text("1"))
    digest: Mapped[str] = mapped_column(unique=True)
    created_at: Mapped[datetime] = now()
    counted_from: Mapped[datetime] = now()
    retired_at: Mapped[datetime | None]
    retired_because: Mapped[str] = mapped_column(server_default="")

    __table_args__ = (
        Index("ix_fixes_signature", "signature", "family"),
        Index("ix_fixes_cues", "cues", postgresql_using="gin"),
    )


class FixProofRow(Row):
    """A step that a planner or a person put right with a fix; `scope` holds its host's labels."""

    __tablename__ = "fix_proofs"

    id: Mapped[int] = number()
    fix_id: Mapped[int] = mapped_column(ForeignKey("fixes.id", ondelete="CASCADE"))
    target: Mapped[str]
    author: Mapped[str]
    scope: Mapped[str] = mapped_column(server_default="")
    created_at: Mapped[datetime] = now()

    __table_args__ = (Index("ix_fix_proofs_fix_id", "fix_id"),)


class FixUseRow(Row):
    """A fix that was offered to a step as that revision; `worked` is empty until a pass has ended.

    The row outlives its task, so the record of a fix is never lost.
    """

    __tablename__ = "fix_uses"

    id: Mapped[int] = number()
    fix_id: Mapped[int] = mapped_column(ForeignKey("fixes.id", ondelete="CASCADE"))
    task_id: Mapped[int]
    run_id: Mapped[int]
    step: Mapped[int]
    revision: Mapped[int]
    offered_at: Mapped[datetime] = now()
    worked: Mapped[bool | None]
    settled_at: Mapped[datetime | None]

    __table_args__ = (
        Index("uq_fix_uses_revision", "run_id", "step", "revision", unique=True),
        Index("ix_fix_uses_fix_id", "fix_id"),
    )
