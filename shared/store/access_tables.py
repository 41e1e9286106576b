"""The tables of access and of the audit: tokens and the audit chain."""

from datetime import datetime

from sqlalchemy import CheckConstraint, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from shared.store.row import Row, now


class TokenRow(Row):
    """A token, known by its public `id`; its secret part is stored only as a hash."""

    __tablename__ = "tokens"

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    role: Mapped[str]
    hash: Mapped[bytes]
    created_at: Mapped[datetime] = now()
    created_by: Mapped[str]
    expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]

    __table_args__ = (
        Index("uq_tokens_name", "name", unique=True, postgresql_where=text("revoked_at IS NULL")),
    )


class AuditRow(Row):
    """A person's action in the chain: `hash` covers the entry and the hash of the entry before it.

    `details` is JSON kept as the text that was hashed.
    """

    __tablename__ = "audit"

    seq: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    at: Mapped[datetime]
    actor: Mapped[str]
    verb: Mapped[str]
    ref: Mapped[str]
    details: Mapped[str]
    previous: Mapped[bytes]
    hash: Mapped[bytes]


class AuditHeadRow(Row):
    """The single row that says where the chain ends; whoever appends locks it until the commit."""

    __tablename__ = "audit_head"

    one: Mapped[bool] = mapped_column(primary_key=True, server_default=text("true"))
    seq: Mapped[int]
    previous: Mapped[bytes]
    hash: Mapped[bytes]

    __table_args__ = (CheckConstraint("one", name="one"),)
