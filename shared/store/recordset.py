"""Many rows in one parameter: one statement for all costs as much as for one."""

from collections.abc import Collection, Iterable
from typing import Any

from pydantic_core import PydanticSerializationError
from sqlalchemy.dialects import postgresql

from shared.domain.errors import Defect
from shared.store.storable_json import storable_json
from shared.store.tables import Row

_DIALECT = postgresql.dialect()  # type: ignore[no-untyped-call]


def columns(table: type[Row], *, without: Collection[str]) -> tuple[str, ...]:
    """The names of a table's columns except those, which the database usually fills."""
    return tuple(column.name for column in table.__table__.columns if column.name not in without)


def recordset(parameter: str, table: type[Row], *names: str, **others: str) -> str:
    """The rows in a parameter as a source called `r` for a FROM clause.

    Its columns are the named ones of the table with their types, and `others` with theirs.
    """
    its = table.__table__.columns
    types = {name: its[name].type.compile(_DIALECT) for name in names} | others
    listed = ", ".join(f"{name} {kind}" for name, kind in types.items())
    return f"jsonb_to_recordset(CAST(:{parameter} AS jsonb)) AS r({listed})"


def as_rows(rows: Iterable[dict[str, Any]]) -> str:
    """The value of such a parameter; times are written in ISO 8601.

    Raises Defect for a value that no row can hold.
    """
    try:
        return storable_json(list(rows))
    except PydanticSerializationError as error:
        raise Defect(f"no row can hold this: {error}", stage="database") from error
