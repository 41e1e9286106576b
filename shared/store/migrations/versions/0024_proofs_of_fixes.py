"""Fixes that have to prove themselves, and labels that tell hosts of one kind apart."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

_CUES = r"""
    UPDATE fixes SET cues = jsonb_build_array(
        'program ' || regexp_replace(split_part(replaced -> 0 ->> 'command', ' ', 1), '^.*/', '')
    ) || coalesce(to_jsonb('line ' || regexp_replace(
        substring(told ->> 0 FROM '^.*?: (?:exit code -?[0-9]+|failed|check_failed): (.+)$'),
        '(?:/(?:srv|opt|home|tmp|data|mnt|media|root)|~)?(?:/<path>)+', '<path>', 'g'
    )), '[]')
"""


def upgrade() -> None:
    """Add them; a fix of an older version has worked once, and is found by its program and line."""
    empty = sa.text("'[]'::jsonb")
    op.add_column(
        "hosts", sa.Column("labels", postgresql.JSONB(), server_default=empty, nullable=False)
    )
    for name in ("words", "named", "cues"):
        op.add_column(
            "fixes", sa.Column(name, postgresql.JSONB(), server_default=empty, nullable=False)
        )
    op.add_column(
        "fixes", sa.Column("vague", sa.Boolean(), server_default=sa.text("false"), nullable=False)
    )
    op.add_column("fixes", sa.Column("step", sa.Text(), server_default="", nullable=False))
    op.create_table(
        "fix_proofs",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("fix_id", sa.BigInteger(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), server_default="", nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("id", name="pk_fix_proofs"),
        sa.ForeignKeyConstraint(
            ["fix_id"], ["fixes.id"], name="fk_fix_proofs_fix_id", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_fix_proofs_fix_id", "fix_proofs", ["fix_id"])
    op.execute(
        "INSERT INTO fix_proofs (fix_id, target, author, created_at)"
        " SELECT id, split_part(learnt_from, '@', 2), author, counted_from FROM fixes"
        " WHERE author NOT LIKE 'human/%' OR author = 'human/human'"
    )
    op.get_bind().exec_driver_sql(_CUES)
    op.create_index("ix_fixes_cues", "fixes", ["cues"], postgresql_using="gin")
