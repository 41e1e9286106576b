"""Repositories in which agents work."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a table; no old row changes."""
    nothing = sa.text("'[]'::jsonb")
    op.create_table(
        "repositories",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=True),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("branch", sa.Text(), nullable=True),
        sa.Column("setup", sa.Text(), nullable=True),
        sa.Column("setup_timeout", postgresql.DOUBLE_PRECISION(), nullable=False),
        sa.Column("checks", postgresql.JSONB(), server_default=nothing, nullable=False),
        sa.Column("runners", postgresql.JSONB(none_as_null=True), nullable=True),
        sa.Column("copied", postgresql.JSONB(), server_default=nothing, nullable=False),
        sa.Column("labels", postgresql.JSONB(), server_default=nothing, nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.CheckConstraint(
            "(path IS NULL) <> (url IS NULL)", name=op.f("ck_repositories_one_source")
        ),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_repositories")),
    )
