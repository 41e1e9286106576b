"""Steps that are detailed when their turn comes: what each run has made of the bare ones."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add columns that no old row has to be rewritten for, and show a run's plan with them."""
    nothing = sa.text("'{}'::jsonb")
    op.add_column(
        "runs",
        sa.Column("detailed", postgresql.JSONB(), server_default=nothing, nullable=False),
    )
    no = sa.text("false")
    op.add_column("run_steps", sa.Column("bare", sa.Boolean(), server_default=no, nullable=False))
    op.execute(
        """
        CREATE OR REPLACE VIEW planned_steps AS
        SELECT runs.id AS run_id, runs.task_id, (planned.body ->> 'ordinal')::bigint AS step,
               planned.body
                   || coalesce(runs.detailed -> (planned.body ->> 'ordinal'), '{}') AS body,
               planned.place,
               planned.place > jsonb_array_length(tasks.plan -> 'steps') AS added
        FROM runs JOIN tasks ON tasks.id = runs.task_id
        CROSS JOIN LATERAL jsonb_array_elements((tasks.plan -> 'steps') || runs.added)
             WITH ORDINALITY AS planned(body, place)
        """
    )
