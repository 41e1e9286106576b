"""Which attempt of an agent a call to a model was made for."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, empty in old rows, and an index of the rows that will have it."""
    op.add_column("model_calls", sa.Column("attempt_key", sa.Text()))
    op.create_index(
        "ix_model_calls_attempt_key",
        "model_calls",
        ["attempt_key"],
        postgresql_where=sa.text("attempt_key IS NOT NULL"),
    )
