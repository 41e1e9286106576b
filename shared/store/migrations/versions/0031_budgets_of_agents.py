"""What agents may spend, and why a call of theirs was not made."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a table and two columns that are empty in old rows."""
    op.create_table(
        "agent_budgets",
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("subtask", sa.BigInteger(), nullable=False),
        sa.Column("planned", sa.Numeric(16, 8), nullable=True),
        sa.Column("raised", sa.Numeric(16, 8), nullable=True),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["runs.id"],
            name=op.f("fk_agent_budgets_run_id_runs"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "run_id", "step", "revision", "subtask", name=op.f("pk_agent_budgets")
        ),
    )
    refused = sa.Column("refused", postgresql.JSONB(none_as_null=True), nullable=True)
    op.add_column("model_calls", refused)
    unpaid = sa.Column("unpaid", postgresql.JSONB(none_as_null=True), nullable=True)
    op.add_column("interventions", unpaid)
