"""The table of what was noted about attempts of agents while they worked."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from shared.store.row import Row, number


class AttemptNoteRow(Row):
    """A note on an attempt; `body` is in the form of its `kind` (`shared.domain.attempt_notes`).

    `run_id` and `step` are those of the attempt.
    """

    __tablename__ = "attempt_notes"

    id: Mapped[int] = number()
    attempt_key: Mapped[str] = mapped_column(ForeignKey("attempts.key", ondelete="CASCADE"))
    run_id: Mapped[int]
    step: Mapped[int]
    kind: Mapped[str]
    body: Mapped[dict[str, Any]]
    at: Mapped[datetime]

    __table_args__ = (
        Index("ix_attempt_notes_attempt_key", "attempt_key", "id"),
        Index("ix_attempt_notes_run_id", "run_id", "step", "id"),
    )
