"""What a host's records of a run are kept under, and passes that were left in the middle."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; every run gets a token of its own."""
    token = sa.text("replace(gen_random_uuid()::text, '-', '')")
    op.add_column("runs", sa.Column("token", sa.Text(), server_default=token, nullable=False))
    op.add_column(
        "run_steps",
        sa.Column("unfinished", sa.Boolean(), server_default=sa.text("false"), nullable=False),
    )
