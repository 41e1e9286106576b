"""Where the transcript of an agent's attempt is."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, empty in old rows."""
    op.add_column("attempts", sa.Column("transcript_blob", sa.Text()))
