"""What planners want to see on hosts before they answer."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a table for the rounds, and columns that no old row has to be rewritten for."""
    op.create_table(
        "look_rounds",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=True),
        sa.Column("step", sa.BigInteger(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("pass_no", sa.BigInteger(), nullable=False),
        sa.Column("round_no", sa.BigInteger(), nullable=False),
        sa.Column("looks", postgresql.JSONB(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "ix_look_rounds_place",
        "look_rounds",
        ["task_id", sa.text("coalesce(run_id, 0)"), sa.text("coalesce(step, 0)"), "id"],
    )
    for table in ("jobs", "run_steps"):
        count = sa.Column("looks", sa.BigInteger(), server_default=sa.text("0"), nullable=False)
        op.add_column(table, count)
    for table, name in (("run_steps", "looking"), ("attempts", "look")):
        no = sa.text("false")
        op.add_column(table, sa.Column(name, sa.Boolean(), server_default=no, nullable=False))
    op.add_column(
        "tasks",
        sa.Column(
            "looks", postgresql.JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False
        ),
    )
