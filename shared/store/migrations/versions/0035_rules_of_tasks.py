"""Rules that people have given a task."""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column; a constant default writes no row."""
    op.add_column(
        "approvals", sa.Column("rule", sa.Text(), server_default=sa.text("''"), nullable=False)
    )
