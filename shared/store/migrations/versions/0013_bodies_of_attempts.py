"""What an attempt came to, where that is no command's result: an agent's."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Every attempt until now is a command's."""
    op.add_column("attempts", sa.Column("body", postgresql.JSONB()))
