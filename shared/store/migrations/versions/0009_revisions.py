"""Revisions that undo, bundles that wait, and runs that go on beyond the plan of their task."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add what a revision undoes, which attempts did, and where the plan of a run has changed."""
    none = sa.text("false")
    empty = sa.text("'[]'::jsonb")
    op.add_column(
        "attempts", sa.Column("rollback", sa.Boolean(), server_default=none, nullable=False)
    )
    op.add_column(
        "revisions", sa.Column("rollback", postgresql.JSONB(), server_default=empty, nullable=False)
    )
    op.add_column(
        "runs", sa.Column("added", postgresql.JSONB(), server_default=empty, nullable=False)
    )
    for name in ("gathered", "handed_up"):
        op.add_column(
            "run_steps", sa.Column(name, sa.Boolean(), server_default=none, nullable=False)
        )
    op.add_column(
        "run_steps",
        sa.Column("generation", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
    )
