"""What a call to a model counts for if nobody knows what it cost, and whose call it is."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; they are empty or have a constant default, so no row is rewritten."""
    op.add_column("model_calls", sa.Column("input_cost", sa.Numeric(16, 8)))
    op.add_column("model_calls", sa.Column("fence", sa.BigInteger()))
    op.add_column(
        "model_calls",
        sa.Column("estimated", sa.Boolean(), server_default=sa.false(), nullable=False),
    )
