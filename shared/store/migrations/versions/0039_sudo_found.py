"""What the check of a host has found of sudo."""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column; of hosts that are enrolled nothing is known before their next check."""
    op.add_column("hosts", sa.Column("sudo_found", sa.Text(), nullable=True))
