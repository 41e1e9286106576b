"""The tables of deliveries: what was published, how it was judged and reviewed, and checkpoints."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from shared.store.row import Row, now, number


class DeliveryRow(Row):
    """What a pass published, or was refused. Only `status` and the columns after it change.

    `sha256` names its bundle in the store at `uri`, of `size` bytes. `base` is the commit that it
    was made from, `tree` the tree with it. `commit` is the commit that stands for it, once made.
    `attempt_key` is the attempt that wrote it last, None for commands alone; `runner` is who did.
    `deliverables` is what its author says about it, `stats` counts its changes, `findings` are
    those of the gates, `trust` who may accept it.
    """

    __tablename__ = "deliveries"

    id: Mapped[int] = number()
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    step: Mapped[int]
    revision: Mapped[int]
    pass_no: Mapped[int]
    attempt_key: Mapped[str | None]
    runner: Mapped[str | None]
    issue_id: Mapped[str]
    sha256: Mapped[str] = mapped_column(unique=True)
    uri: Mapped[str]
    size: Mapped[int]
    base: Mapped[str]
    tree: Mapped[str]
    deliverables: Mapped[dict[str, Any]]
    stats: Mapped[dict[str, Any]]
    findings: Mapped[list[Any]] = mapped_column(server_default=text("'[]'::jsonb"))
    trust: Mapped[str]
    created_at: Mapped[datetime] = now()
    status: Mapped[str]
    rejection: Mapped[str | None]
    reason: Mapped[str] = mapped_column(server_default="")
    commit: Mapped[str | None]
    settled_by: Mapped[str | None]
    settled_at: Mapped[datetime | None]

    __table_args__ = (
        Index("uq_deliveries_pass", "run_id", "step", "revision", "pass_no", unique=True),
    )


class CheckRunRow(Row):
    """One judgement of a delivery: merged with a line, and checked on exactly that tree.

    `turn` is that of the judgement. `checks` is the digest of the commands and of where they ran:
    a tree that has passed them in a repository is not checked again, and `same_as` names that run.
    `report` holds the result of each check, `envelope` the signed attestation.
    """

    __tablename__ = "check_runs"

    id: Mapped[int] = number()
    delivery_id: Mapped[int] = mapped_column(ForeignKey("deliveries.id", ondelete="CASCADE"))
    turn: Mapped[int]
    status: Mapped[str]
    onto: Mapped[str]
    commit: Mapped[str | None]
    tree: Mapped[str | None]
    repository: Mapped[str]
    checks: Mapped[str | None]
    same_as: Mapped[int | None]
    ok: Mapped[bool | None]
    report: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'::jsonb"))
    envelope: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    started_at: Mapped[datetime] = now()
    finished_at: Mapped[datetime | None]

    __table_args__ = (
        Index("uq_check_runs_turn", "delivery_id", "turn", unique=True),
        Index("ix_check_runs_tree", "repository", "tree", "checks"),
    )


class ReviewRow(Row):
    """What a reviewer said of a delivery, as it said it (S3.50-S3.54)."""

    __tablename__ = "reviews"

    id: Mapped[int] = number()
    delivery_id: Mapped[int] = mapped_column(
        ForeignKey("deliveries.id", ondelete="CASCADE"), unique=True
    )
    reviewer: Mapped[str]
    attempt_key: Mapped[str | None]
    result: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = now()


class CheckpointRow(Row):
    """A checkpoint of a session; `stage` is how far it has come, `report` what it met on the way.

    It publishes `head_local`, with the first `accepted` acceptances, to `ref` of `remote`;
    `head_remote` is what was verified there. `synced` lists the worktrees, and what was done.
    """

    __tablename__ = "checkpoints"

    id: Mapped[int] = number()
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    number: Mapped[int]
    status: Mapped[str]
    stage: Mapped[str]
    remote: Mapped[str] = mapped_column(server_default="")
    ref: Mapped[str] = mapped_column(server_default="")
    head_local: Mapped[str]
    head_remote: Mapped[str | None]
    accepted: Mapped[int]
    synced: Mapped[list[Any]] = mapped_column(server_default=text("'[]'::jsonb"))
    report: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'::jsonb"))
    started_at: Mapped[datetime] = now()
    finished_at: Mapped[datetime | None]

    __table_args__ = (Index("uq_checkpoints_number", "run_id", "number", unique=True),)


class BuiltPlanRow(Row):
    """What a person chose from a backlog for a session (S2.20, S2.55).

    `selector` lists the ids of the issues that were allowed, `assigns` names runners by id, and
    `source` the file.
    """

    __tablename__ = "built_plans"

    id: Mapped[int] = number()
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    source: Mapped[str]
    selector: Mapped[list[Any]]
    assigns: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = now()

    __table_args__ = (Index("ix_built_plans_run_id", "run_id"),)


class ProjectRow(Row):
    """What a manager found and planned for the goal of a task, as it said it (S3.42-S3.49)."""

    __tablename__ = "projects"

    task_id: Mapped[int] = mapped_column(
        ForeignKey("tasks.id", ondelete="CASCADE"), primary_key=True
    )
    plan: Mapped[dict[str, Any]]
    completion_report: Mapped[str] = mapped_column(server_default="")
    created_at: Mapped[datetime] = now()
    updated_at: Mapped[datetime] = now()


class WorktreeRow(Row):
    """A workspace in which a step of a run works, or the main one of a session (`step` empty).

    `state` is what was seen there last.
    """

    __tablename__ = "worktrees"

    name: Mapped[str] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    step: Mapped[int | None]
    repository: Mapped[str]
    host: Mapped[str]
    path: Mapped[str]
    state: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'::jsonb"))
    last_seen_at: Mapped[datetime] = now()

    __table_args__ = (Index("ix_worktrees_run_id", "run_id", "step"),)
