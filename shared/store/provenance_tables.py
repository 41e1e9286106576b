"""The table of what the commands of plans have left on hosts."""

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from shared.store.row import Row, now


class ProvenanceRow(Row):
    """A place on a host at which a task may have left something (`shared.domain.provenance`).

    `digest` is the SHA-256 of host, kind, path and target. It outlives its task: what lies on the
    host does, too.
    """

    __tablename__ = "provenance"

    digest: Mapped[str] = mapped_column(primary_key=True)
    host: Mapped[str]
    kind: Mapped[str]
    path: Mapped[str]
    target: Mapped[str]
    task_id: Mapped[int]
    left_at: Mapped[datetime] = now()

    __table_args__ = (Index("ix_provenance_host", "host", "left_at"),)
