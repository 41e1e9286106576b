"""What a person lets run: the questions, and the approvals."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table, what an intervention asks, and which steps wait for an approval."""
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "approvals",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("given_by", sa.Text(), nullable=False),
        sa.Column("given_at", moment, server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("expires_at", moment, nullable=False),
        sa.Column("signature", sa.Text(), nullable=False),
        sa.Column("used_at", moment, nullable=True),
        sa.Column("used_by", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["task_id"], ["tasks.id"], name="fk_approvals_task_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_approvals"),
    )
    op.create_index("ix_approvals_task_id", "approvals", ["task_id", "digest"])
    op.add_column(
        "interventions",
        sa.Column(
            "asked", postgresql.JSONB(), server_default=sa.text("'[]'::jsonb"), nullable=False
        ),
    )
    op.add_column(
        "run_steps",
        sa.Column("unapproved", sa.Boolean(), server_default=sa.text("false"), nullable=False),
    )
    # Steps that waited for an approval before there were any: resuming them asks anew.
