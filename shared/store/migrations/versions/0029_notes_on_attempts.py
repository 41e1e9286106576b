"""Notes on attempts of agents while they work."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a table; no old row changes."""
    op.create_table(
        "attempt_notes",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("attempt_key", sa.Text(), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("body", postgresql.JSONB(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["attempt_key"],
            ["attempts.key"],
            name=op.f("fk_attempt_notes_attempt_key"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempt_notes")),
    )
    op.create_index("ix_attempt_notes_attempt_key", "attempt_notes", ["attempt_key", "id"])
    op.create_index("ix_attempt_notes_run_id", "attempt_notes", ["run_id", "step", "id"])
