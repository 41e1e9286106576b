"""Tokens, the audit chain, and what a host needs to be reached and trusted."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import BYTEA

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_MOMENT = sa.DateTime(timezone=True)
_HOST_COLUMNS = ("jump", "password", "passphrase", "sudo_password", "distrusted")


def upgrade() -> None:
    """Add the tables and columns; the chain begins empty."""
    _tokens()
    _audit()
    for name in _HOST_COLUMNS:
        op.add_column("hosts", sa.Column(name, sa.Text(), nullable=True))


def _tokens() -> None:
    op.create_table(
        "tokens",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("hash", BYTEA(), nullable=False),
        sa.Column("created_at", _MOMENT, server_default=sa.func.clock_timestamp(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("expires_at", _MOMENT, nullable=False),
        sa.Column("revoked_at", _MOMENT, nullable=True),
        sa.Column("last_used_at", _MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
    )
    op.create_index(
        "uq_tokens_name",
        "tokens",
        ["name"],
        unique=True,
        postgresql_where=sa.text("revoked_at IS NULL"),
    )


def _audit() -> None:
    op.create_table(
        "audit",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("verb", sa.Text(), nullable=False),
        sa.Column("ref", sa.Text(), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("previous", BYTEA(), nullable=False),
        sa.Column("hash", BYTEA(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_audit")),
    )
    op.create_table(
        "audit_head",
        sa.Column("one", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("previous", BYTEA(), nullable=False),
        sa.Column("hash", BYTEA(), nullable=False),
        sa.PrimaryKeyConstraint("one", name=op.f("pk_audit_head")),
        sa.CheckConstraint("one", name=op.f("ck_audit_head_one")),
    )
    nought = "decode(repeat('00', 32), 'hex')"
    op.execute(f"INSERT INTO audit_head (seq, previous, hash) VALUES (0, {nought}, {nought})")  # noqa: S608
