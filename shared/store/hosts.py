"""Hosts in rows: enrolled with a pinned key, found by name, removed."""

from typing import Any

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.dialects.postgresql import insert as upsert

from shared.domain.errors import Rejected
from shared.domain.host import LOCALHOST, Host
from shared.domain.host import Connection as Via
from shared.domain.task import ENDED_RUN
from shared.store.tables import HostRow, RunRow

_FIELDS = ("name", "connection", "address", "port", "user", "key_path", "host_key", "workdir")


def save(connection: Connection, host: Host, *, replace: bool = False) -> None:
    """Enrol a host. Raises Rejected when the name is taken, unless it is to be replaced."""
    values = {name: getattr(host, name) for name in _FIELDS} | {"connection": host.connection.value}
    statement = upsert(HostRow).values(values)
    if replace:
        statement = statement.on_conflict_do_update(index_elements=["name"], set_=values)
        connection.execute(statement)
        return
    inserted = connection.execute(statement.on_conflict_do_nothing().returning(HostRow.name))
    if inserted.scalar() is None:
        raise Rejected(
            f"a host called {host.name!r} is enrolled already",
            stage="input",
            next_step_cmd=f"replan host remove {host.name}",
        )


def listed(connection: Connection) -> tuple[Host, ...]:
    """Every enrolled host, by name."""
    found = connection.execute(select(HostRow.__table__).order_by(HostRow.name))
    return tuple(_host(row) for row in found)


def find(connection: Connection, name: str) -> Host | None:
    """The host of that name, None when it is not enrolled; `localhost` always is."""
    row = connection.execute(select(HostRow.__table__).where(HostRow.name == name)).one_or_none()
    return joined(row, name)


def joined(row: Any, name: str) -> Host | None:
    """The same from the columns of `hosts` in a row, all empty when there is no such host."""
    if row is not None and row.name is not None:
        return _host(row)
    return LOCALHOST if name == LOCALHOST.name else None


def named(connection: Connection, name: str) -> Host:
    """The host of that name; raises Rejected, with the names there are, for none."""
    found = find(connection, name)
    if found is not None:
        return found
    known = ", ".join(host.name for host in listed(connection)) or "none"
    raise Rejected(
        f"host {name!r} is not enrolled; enrolled: {known}",
        stage="input",
        next_step_cmd=f"replan host add {name} --address ADDRESS --user USER --key FILE",
    )


def remove(connection: Connection, name: str) -> None:
    """Take a host out. Raises Rejected while a run on it has not ended."""
    named(connection, name)
    busy = connection.execute(
        select(func.count())
        .select_from(RunRow)
        .where(RunRow.target == name, RunRow.phase.not_in([p.value for p in ENDED_RUN]))
    ).scalar_one()
    if busy:
        raise Rejected(
            f"{busy} runs on {name} have not ended",
            stage="input",
            next_step_cmd="replan task list --phase running",
        )
    connection.execute(delete(HostRow).where(HostRow.name == name))


def _host(row: Any) -> Host:
    values = {name: getattr(row, name) for name in _FIELDS}
    return Host(**{**values, "connection": Via(row.connection)})
