"""A changed plan whose bare steps are being detailed."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("run_steps", sa.Column("draft", postgresql.JSONB()))
