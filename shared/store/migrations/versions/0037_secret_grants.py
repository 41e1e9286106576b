"""Which secrets a task may use, and on which hosts a secret may be used (X19)."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

_NAME = r"\$\{secret:([A-Za-z][A-Za-z0-9_]{0,63})\}"
_KEEP = f"""
    INSERT INTO secret_grants (task_id, name, given_by)
    SELECT DISTINCT named.task_id, found[1], 'migration'
    FROM (
        SELECT id AS task_id, concat_ws(' ', prompt, plan::text) AS said FROM tasks
        WHERE phase NOT IN ('done', 'cancelled')
        UNION ALL
        SELECT tasks.id, revisions.subtasks::text
        FROM tasks JOIN runs ON runs.task_id = tasks.id
        JOIN revisions ON revisions.run_id = runs.id
        WHERE tasks.phase NOT IN ('done', 'cancelled')
    ) AS named, regexp_matches(named.said, '{_NAME}', 'g') AS found
    WHERE named.said LIKE '%${{secret:%'
"""  # noqa: S608 - constants
"""What tasks under way name, they may go on using."""


def upgrade() -> None:
    """Add both tables; a task that has not ended keeps the secrets that it names."""
    op.create_table(
        "secret_grants",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=True),
        sa.Column("given_by", sa.Text(), nullable=False),
        sa.Column(
            "given_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["task_id"],
            ["tasks.id"],
            name=op.f("fk_secret_grants_task_id_tasks"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_secret_grants")),
    )
    op.create_index("ix_secret_grants_task_id", "secret_grants", ["task_id"])
    op.create_table(
        "secret_scopes",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("hosts", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_secret_scopes")),
    )
    op.execute(_KEEP)
