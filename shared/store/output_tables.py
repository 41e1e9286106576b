"""The tables of output: live output, and output that was too long for its row."""

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from shared.store.row import Row, now, number


class OutputRow(Row):
    """Output of an attempt that still runs, for `attempt tail`; removed when it has ended."""

    __tablename__ = "live_output"

    id: Mapped[int] = number()
    attempt_key: Mapped[str]
    stream: Mapped[str]
    text: Mapped[str]

    __table_args__ = (Index("ix_live_output_attempt_key", "attempt_key", "id"),)


class BlobRow(Row):
    """Bytes under their SHA-256: a whole output that was too long for its row."""

    __tablename__ = "blobs"

    digest: Mapped[str] = mapped_column(primary_key=True)
    data: Mapped[bytes]
    created_at: Mapped[datetime] = now()
