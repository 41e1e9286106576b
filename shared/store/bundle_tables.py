"""The table of bundles: the evidence that planners are sent."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from shared.store.row import Row, now, number


class BundleRow(Row):
    """The evidence of a step; `evidence` is its text, byte for byte as a model receives it.

    The fix memory recognises it by `failure`, if it can.
    """

    __tablename__ = "bundles"

    id: Mapped[int] = number()
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    step: Mapped[int]
    revision: Mapped[int]
    pass_no: Mapped[int]
    body: Mapped[dict[str, Any]]
    evidence: Mapped[str] = mapped_column(server_default="")
    failure: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    created_at: Mapped[datetime] = now()

    __table_args__ = (
        Index("uq_bundles_pass", "run_id", "step", "revision", "pass_no", unique=True),
    )
