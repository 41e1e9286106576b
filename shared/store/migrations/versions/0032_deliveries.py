"""Deliveries: what code work hands over, its judgements and reviews, and checkpoints."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add tables, and columns that are empty in old rows."""
    op.create_table(
        "deliveries",
        _number(),
        _text("sha256"),
        _whole("run_id"),
        _whole("step"),
        _whole("revision"),
        _whole("pass_no"),
        _text("attempt_key", nullable=True),
        _text("runner", nullable=True),
        _text("issue_id"),
        _text("uri"),
        _whole("size"),
        _text("base"),
        _text("tree"),
        _json("deliverables"),
        _json("stats"),
        _json("findings", "[]"),
        _text("trust"),
        _now("created_at"),
        _text("status"),
        _text("rejection", nullable=True),
        _text("reason", default=""),
        _text("commit", nullable=True),
        _text("settled_by", nullable=True),
        _time("settled_at"),
        _belongs("deliveries", "run_id", "runs"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deliveries")),
        sa.UniqueConstraint("sha256", name=op.f("uq_deliveries_sha256")),
    )
    of_pass = ["run_id", "step", "revision", "pass_no"]
    op.create_index("uq_deliveries_pass", "deliveries", of_pass, unique=True)
    op.create_table(
        "check_runs",
        _number(),
        _whole("delivery_id"),
        _whole("turn"),
        _text("status"),
        _text("onto"),
        _text("commit", nullable=True),
        _text("tree", nullable=True),
        _text("repository"),
        _text("checks", nullable=True),
        sa.Column("same_as", sa.BigInteger(), nullable=True),
        sa.Column("ok", sa.Boolean(), nullable=True),
        _json("report", "{}"),
        sa.Column("envelope", postgresql.JSONB(none_as_null=True), nullable=True),
        _now("started_at"),
        _time("finished_at"),
        _belongs("check_runs", "delivery_id", "deliveries"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_check_runs")),
    )
    op.create_index("uq_check_runs_turn", "check_runs", ["delivery_id", "turn"], unique=True)
    op.create_index("ix_check_runs_tree", "check_runs", ["repository", "tree", "checks"])
    op.create_table(
        "reviews",
        _number(),
        _whole("delivery_id"),
        _text("reviewer"),
        _text("attempt_key", nullable=True),
        _json("result"),
        _now("created_at"),
        _belongs("reviews", "delivery_id", "deliveries"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reviews")),
        sa.UniqueConstraint("delivery_id", name=op.f("uq_reviews_delivery_id")),
    )
    op.create_table(
        "checkpoints",
        _number(),
        _whole("run_id"),
        _whole("number"),
        _text("status"),
        _text("stage"),
        _text("remote", default=""),
        _text("ref", default=""),
        _text("head_local"),
        _text("head_remote", nullable=True),
        _whole("accepted"),
        _json("synced", "[]"),
        _json("report", "{}"),
        _now("started_at"),
        _time("finished_at"),
        _belongs("checkpoints", "run_id", "runs"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_checkpoints")),
    )
    op.create_index("uq_checkpoints_number", "checkpoints", ["run_id", "number"], unique=True)
    op.create_table(
        "projects",
        _whole("task_id"),
        _json("plan"),
        _text("completion_report", default=""),
        _now("created_at"),
        _now("updated_at"),
        _belongs("projects", "task_id", "tasks"),
        sa.PrimaryKeyConstraint("task_id", name=op.f("pk_projects")),
    )
    no, nought = sa.text("false"), sa.text("0")
    op.add_column("runs", _text("head", nullable=True))
    op.add_column(
        "runs", sa.Column("accepted", sa.BigInteger(), server_default=nought, nullable=False)
    )
    op.add_column("runs", _json("checkpoint", "{}"))
    op.add_column("runs", sa.Column("held_open", sa.Boolean(), server_default=no, nullable=False))
    op.add_column("runs", sa.Column("paused", sa.Boolean(), server_default=no, nullable=False))
    nothing = postgresql.JSONB(none_as_null=True)
    op.add_column("run_steps", sa.Column("acceptance", nothing, nullable=True))
    for counter in ("rejections", "accepted_as"):
        column = sa.Column(counter, sa.BigInteger(), server_default=nought, nullable=False)
        op.add_column("run_steps", column)
    for listed in ("trust", "forbidden_paths", "reviewers"):
        op.add_column("repositories", _json(listed, "[]"))
    op.add_column("repositories", _text("remote", nullable=True))
    op.add_column("repositories", sa.Column("forge", nothing, nullable=True))


def _number() -> sa.Column[int]:
    return sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False)


def _whole(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=False)


def _text(name: str, *, nullable: bool = False, default: str | None = None) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), server_default=default, nullable=nullable)


def _json(name: str, default: str | None = None) -> sa.Column[object]:
    given = None if default is None else sa.text(f"'{default}'::jsonb")
    return sa.Column(name, postgresql.JSONB(), server_default=given, nullable=False)


def _now(name: str) -> sa.Column[object]:
    given = sa.text("clock_timestamp()")
    return sa.Column(name, sa.DateTime(timezone=True), server_default=given, nullable=False)


def _time(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=True)


def _belongs(table: str, column: str, parent: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_{column}_{parent}")
    key = "id"
    return sa.ForeignKeyConstraint([column], [f"{parent}.{key}"], name=name, ondelete="CASCADE")
