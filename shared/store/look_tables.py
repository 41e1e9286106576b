"""The table of what planners wanted to see before they answered."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from shared.store.row import Row, now, number


class LookRoundRow(Row):
    """One round of looks of a planning; the outputs are attempts (`shared.store.looks.key`).

    `kind` is that of the planning job that asked; `round_no` counts the rounds of one planning
    from 1. Of several rounds with one number, the newest belongs to the planning at hand.
    """

    __tablename__ = "look_rounds"

    id: Mapped[int] = number()
    task_id: Mapped[int] = mapped_column(ForeignKey("tasks.id", ondelete="CASCADE"))
    run_id: Mapped[int | None] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    step: Mapped[int | None]
    kind: Mapped[str]
    revision: Mapped[int]
    pass_no: Mapped[int]
    round_no: Mapped[int]
    looks: Mapped[list[Any]]
    created_at: Mapped[datetime] = now()

    __table_args__ = (
        Index(
            "ix_look_rounds_place",
            "task_id",
            text("coalesce(run_id, 0)"),
            text("coalesce(step, 0)"),
            "id",
        ),
    )
