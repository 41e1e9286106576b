"""Calls to models: what was asked and answered, what it cost, and what a task may cost."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table, a task's own cap, and the text of a bundle as a model receives it."""
    moment = sa.DateTime(timezone=True)
    dollars = sa.Numeric(16, 8)
    zero = sa.text("0")
    op.create_table(
        "model_calls",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=True),
        sa.Column("step", sa.BigInteger(), nullable=True),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=True),
        sa.Column("replay_of", sa.BigInteger(), nullable=True),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("effort", sa.Text(), nullable=True),
        sa.Column("question", postgresql.JSONB(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("input_tokens", sa.BigInteger(), server_default=zero, nullable=False),
        sa.Column("cache_read_tokens", sa.BigInteger(), server_default=zero, nullable=False),
        sa.Column("cache_written_tokens", sa.BigInteger(), server_default=zero, nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), server_default=zero, nullable=False),
        sa.Column("cost", dollars, nullable=True),
        sa.Column("seconds", sa.Float(), nullable=True),
        sa.Column("stop_reason", sa.Text(), nullable=True),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column(
            "started_at", moment, server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column("ended_at", moment, nullable=True),
        sa.ForeignKeyConstraint(
            ["task_id"], ["tasks.id"], name="fk_model_calls_task_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_model_calls"),
    )
    op.create_index("ix_model_calls_task_id", "model_calls", ["task_id", "id"])
    op.create_index("ix_model_calls_started_at", "model_calls", ["started_at"])
    op.add_column("tasks", sa.Column("cost_cap", dollars, nullable=True))
    op.add_column("bundles", sa.Column("evidence", sa.Text(), server_default="", nullable=False))
