"""What all tables share: one metadata with one naming scheme, and the usual columns."""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    DateTime,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    Text,
    func,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}

Moment = DateTime(timezone=True)

DOLLARS = Numeric(16, 8)
"""An amount of money; the price of a single token is far below a cent."""


class Row(DeclarativeBase):
    """What all rows share: one metadata, text for str, UTC timestamps from the database's clock."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy reads it as a class attribute
        str: Text,
        int: BigInteger,
        datetime: Moment,
        dict[str, Any]: JSONB,
        list[Any]: JSONB,
        list[int]: ARRAY(Integer),
        list[str]: ARRAY(Text),
        bytes: LargeBinary,
    }


def number() -> Mapped[int]:
    """A primary key that the database generates."""
    return mapped_column(BigInteger, primary_key=True, autoincrement=True)


def now() -> Mapped[datetime]:
    """A time that defaults to the database's present."""
    return mapped_column(server_default=func.clock_timestamp())
