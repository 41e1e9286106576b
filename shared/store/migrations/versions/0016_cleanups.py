"""Clean-ups after a cancel, which were withdrawn jobs that were open again."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Count the tries in the step; what such a job was to end is found again by the sweeper."""
    op.add_column(
        "run_steps",
        sa.Column("cleanups", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
    )
    op.execute("""
        UPDATE jobs SET state = 'done', ended_at = clock_timestamp(), lease_until = NULL
        WHERE ending AND state = 'open'
    """)
    op.drop_column("jobs", "ending")
