"""What a person may say of an unknown outcome, and the end of one command."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns, and an index over what runs."""
    op.add_column("jobs", sa.Column("cancel_attempt", sa.Text(), nullable=True))
    op.add_column(
        "run_steps",
        sa.Column("unknown", sa.Boolean(), server_default=sa.text("false"), nullable=False),
    )
    op.create_index(
        "ix_attempts_running",
        "attempts",
        ["run_id", "step"],
        unique=False,
        postgresql_where=sa.text("outcome = 'running'"),
    )
