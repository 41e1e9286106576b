"""The table of the repositories in which agents work."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, text
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from shared.store.row import Row, now


class RepositoryRow(Row):
    """A repository on an enrolled host; see `shared.domain.target.Repository`.

    `localhost` need not be enrolled, so no key leads from `host` to the hosts.
    """

    __tablename__ = "repositories"

    name: Mapped[str] = mapped_column(primary_key=True)
    host: Mapped[str]
    path: Mapped[str | None]
    url: Mapped[str | None]
    branch: Mapped[str | None]
    setup: Mapped[str | None]
    setup_timeout: Mapped[float] = mapped_column(DOUBLE_PRECISION)
    checks: Mapped[list[Any]] = mapped_column(server_default=text("'[]'::jsonb"))
    runners: Mapped[list[Any] | None] = mapped_column(JSONB(none_as_null=True))
    copied: Mapped[list[Any]] = mapped_column(server_default=text("'[]'::jsonb"))
    trust: Mapped[list[Any]] = mapped_column(server_default=text("'[]'::jsonb"))
    forbidden_paths: Mapped[list[Any]] = mapped_column(server_default=text("'[]'::jsonb"))
    reviewers: Mapped[list[Any]] = mapped_column(server_default=text("'[]'::jsonb"))
    remote: Mapped[str | None]
    forge: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    labels: Mapped[list[Any]] = mapped_column(server_default=text("'[]'::jsonb"))
    created_at: Mapped[datetime] = now()

    __table_args__ = (CheckConstraint("(path IS NULL) <> (url IS NULL)", name="one_source"),)
