"""What a command would change, as a dry run has seen it."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column; an empty one writes no row."""
    op.add_column("attempts", sa.Column("preview", JSONB(), nullable=True))
