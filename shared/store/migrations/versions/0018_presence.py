"""The lock by which the worker of a job shows that it is there, and when it was found lost."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; they are empty, so no row is rewritten."""
    op.add_column("jobs", sa.Column("presence", sa.BigInteger()))
    op.add_column("jobs", sa.Column("lost_at", sa.DateTime(timezone=True)))
