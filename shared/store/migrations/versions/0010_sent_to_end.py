"""Jobs that were withdrawn while nobody was at them, and are open again to end what runs."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column(
        "jobs", sa.Column("ending", sa.Boolean(), server_default=sa.text("false"), nullable=False)
    )
