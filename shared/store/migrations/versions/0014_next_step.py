"""What a person can do next is a value; what was stored as text stays a command to type."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_FACTS = """
UPDATE {table} SET body = (body - 'next_step_cmd') || jsonb_build_object(
    'next_step',
    CASE WHEN body ->> 'next_step_cmd' IS NOT NULL
         THEN jsonb_build_object('text', body ->> 'next_step_cmd') END)
WHERE kind = 'JobFailed' AND body ? 'next_step_cmd'
"""


def upgrade() -> None:
    """Turn the column of interventions, and the facts that carry one."""
    op.alter_column(
        "interventions",
        "next_step_cmd",
        new_column_name="next_step",
        existing_type=sa.Text(),
        existing_nullable=True,
    )
    op.alter_column(
        "interventions",
        "next_step",
        type_=JSONB(),
        existing_type=sa.Text(),
        existing_nullable=True,
        postgresql_using="CASE WHEN next_step IS NOT NULL "
        "THEN jsonb_build_object('text', next_step) END",
    )
    for table in ("inbox", "events"):
        op.execute(_FACTS.format(table=table))
