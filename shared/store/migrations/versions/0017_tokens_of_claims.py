"""A random token for each claim of a job: its number alone may be given out twice."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; jobs that are claimed now are claimed again after the upgrade."""
    op.add_column(
        "jobs",
        sa.Column(
            "tokens",
            postgresql.ARRAY(sa.Text()),
            server_default=sa.text("'{}'::text[]"),
            nullable=False,
        ),
    )
