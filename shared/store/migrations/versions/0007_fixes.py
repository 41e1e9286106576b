"""The fix memory: what failed, in a form that is recognised again, and what put it right."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the two tables, and what a bundle's failure is recognised by."""
    moment = sa.DateTime(timezone=True)
    present = sa.text("clock_timestamp()")
    op.create_table(
        "fixes",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("signature", sa.Text(), nullable=False),
        sa.Column("family", sa.Text(), nullable=False),
        sa.Column("told", postgresql.JSONB(), nullable=False),
        sa.Column("replaced", postgresql.JSONB(), nullable=False),
        sa.Column("replacement", postgresql.JSONB(), nullable=False),
        sa.Column("hosts", postgresql.JSONB(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("learnt_from", sa.Text(), nullable=False),
        sa.Column("learnt", sa.BigInteger(), server_default=sa.text("1"), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("created_at", moment, server_default=present, nullable=False),
        sa.Column("counted_from", moment, server_default=present, nullable=False),
        sa.Column("retired_at", moment, nullable=True),
        sa.Column("retired_because", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_fixes"),
        sa.UniqueConstraint("digest", name="uq_fixes_digest"),
    )
    op.create_index("ix_fixes_signature", "fixes", ["signature", "family"])
    op.create_table(
        "fix_uses",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("fix_id", sa.BigInteger(), nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("offered_at", moment, server_default=present, nullable=False),
        sa.Column("worked", sa.Boolean(), nullable=True),
        sa.Column("settled_at", moment, nullable=True),
        sa.ForeignKeyConstraint(
            ["fix_id"], ["fixes.id"], name="fk_fix_uses_fix_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_fix_uses"),
    )
    op.create_index("uq_fix_uses_revision", "fix_uses", ["run_id", "step", "revision"], unique=True)
    op.create_index("ix_fix_uses_fix_id", "fix_uses", ["fix_id"])
    op.add_column("bundles", sa.Column("failure", postgresql.JSONB(), nullable=True))
