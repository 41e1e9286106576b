"""What a step waits for as one value, postponements under their name, a run's plan as a view."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Keep what the rows say: each flag becomes the value that it stood for."""
    _say_what_steps_wait_for()
    for table, old in (("jobs", "attempt"), ("tasks", "putting_off"), ("run_steps", "putting_off")):
        op.alter_column(table, old, new_column_name="postponed")
    for table in ("events", "inbox"):
        op.execute(
            f"UPDATE {table} SET body = body - 'attempt' "  # noqa: S608 - nothing but constants
            "|| jsonb_build_object('postponed', coalesce(body -> 'attempt', '0')) "
            "WHERE kind = 'JobFailed'"
        )
    op.execute(
        """
        CREATE VIEW planned_steps AS
        SELECT runs.id AS run_id, runs.task_id, (planned.body ->> 'ordinal')::bigint AS step,
               planned.body, planned.place,
               planned.place > jsonb_array_length(tasks.plan -> 'steps') AS added
        FROM runs JOIN tasks ON tasks.id = runs.task_id
        CROSS JOIN LATERAL jsonb_array_elements((tasks.plan -> 'steps') || runs.added)
             WITH ORDINALITY AS planned(body, place)
        """
    )


def _say_what_steps_wait_for() -> None:
    op.add_column("run_steps", sa.Column("waits_for", sa.Text()))
    op.execute(
        """
        UPDATE run_steps SET waits_for = CASE
            WHEN unknown THEN 'outcome' WHEN unapproved THEN 'approval' WHEN asking THEN 'answer'
            WHEN gathered THEN 'sending' ELSE 'decision'
        END
        WHERE phase = 'waiting'
        """
    )
    for flag in ("unknown", "unapproved", "asking", "gathered"):
        op.drop_column("run_steps", flag)
    op.create_check_constraint(
        "waits_for", "run_steps", "(waits_for IS NOT NULL) = (phase = 'waiting')"
    )
