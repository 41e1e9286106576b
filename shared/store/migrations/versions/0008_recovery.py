"""Questions to people and what they answered; a taskmaster that still owes its answer."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add what a task and a step wait for, the answers, and the options of a question."""
    for table, name in (("tasks", "unrefined"), ("tasks", "asking"), ("run_steps", "asking")):
        no = sa.text("false")
        op.add_column(table, sa.Column(name, sa.Boolean(), server_default=no, nullable=False))
    for table, name in (("tasks", "replies"), ("interventions", "options")):
        empty = sa.text("'[]'::jsonb")
        kind = postgresql.JSONB()
        op.add_column(table, sa.Column(name, kind, server_default=empty, nullable=False))
