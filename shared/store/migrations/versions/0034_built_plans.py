"""What people chose from backlogs (S2.20), and the versions that the database has (S2.79)."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

_PLANS = """
    SELECT 'P' || built.id AS id, mine.session_id, built.created_at,
           built.selector AS selector_json, built.assigns AS assigns_json
    FROM public.built_plans built JOIN ledger.runs_of_sessions mine ON mine.run_id = built.run_id
    UNION ALL
    SELECT issues.session_id AS id, issues.session_id, min(tasks.created_at) AS created_at,
           jsonb_agg(issues.issue_id ORDER BY issues.step) AS selector_json,
           coalesce(jsonb_object_agg(issues.issue_id, issues.runner)
                        FILTER (WHERE issues.runner IS NOT NULL), '{}') AS assigns_json
    FROM ledger.issues
    JOIN public.runs ON runs.id = issues.run_id JOIN public.tasks ON tasks.id = runs.task_id
    WHERE NOT EXISTS (SELECT FROM public.built_plans WHERE built_plans.run_id = issues.run_id)
    GROUP BY issues.session_id
"""
"""What was chosen, each time; for a session that was planned otherwise, all of its issues."""

_MIGRATIONS = "SELECT version_num AS version FROM public.alembic_version"


def upgrade() -> None:
    """Add a table, and put it into the views."""
    op.create_table(
        "built_plans",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("selector", postgresql.JSONB(), nullable=False),
        sa.Column("assigns", postgresql.JSONB(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_built_plans_run_id_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_built_plans")),
    )
    op.create_index("ix_built_plans_run_id", "built_plans", ["run_id"])
    op.execute(f"CREATE OR REPLACE VIEW ledger.plans AS {_PLANS}")
    op.execute(f"CREATE VIEW ledger.schema_migrations AS {_MIGRATIONS}")
