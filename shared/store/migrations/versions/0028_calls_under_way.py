"""How far the gateway is with a call that it makes for an agent."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add columns that are empty in old rows."""
    op.add_column("model_calls", sa.Column("heard", sa.BigInteger()))
    op.add_column("model_calls", sa.Column("provider_away", sa.Boolean()))
    op.add_column("model_calls", sa.Column("seen_at", sa.DateTime(timezone=True)))
