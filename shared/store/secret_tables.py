"""The tables of who may use which secret: tasks and their steps, and hosts."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, Integer
from sqlalchemy.orm import Mapped, mapped_column

from shared.store.row import Row, now, number


class SecretGrantRow(Row):
    """A secret that a person has given a task, or one of its steps; `step` is empty for all."""

    __tablename__ = "secret_grants"

    id: Mapped[int] = number()
    task_id: Mapped[int] = mapped_column(ForeignKey("tasks.id", ondelete="CASCADE"))
    name: Mapped[str]
    step: Mapped[int | None] = mapped_column(Integer)
    given_by: Mapped[str]
    given_at: Mapped[datetime] = now()

    __table_args__ = (Index("ix_secret_grants_task_id", "task_id"),)


class SecretScopeRow(Row):
    """The hosts on which a secret may be used, as patterns; a secret without a row: on all."""

    __tablename__ = "secret_scopes"

    name: Mapped[str] = mapped_column(primary_key=True)
    hosts: Mapped[list[str]]
