"""The acceptance checks that a revision gives up."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add them to each revision; earlier ones named none."""
    empty = sa.text("'[]'::jsonb")
    op.add_column(
        "revisions",
        sa.Column("dropped_checks", postgresql.JSONB(), server_default=empty, nullable=False),
    )
