"""Hosts in rows: enrolled with a pinned key, found by name, removed."""

from collections.abc import Iterable, Sequence
from dataclasses import replace as replaced
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, func, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert

from shared.domain.errors import Misconfigured, Rejected
from shared.domain.host import LOCALHOST, ConnectionKind, Host, SudoFound
from shared.domain.next_step import Blank, NextStep
from shared.domain.task import ENDED_RUN
from shared.store.repository_tables import RepositoryRow
from shared.store.tables import HostRow, RunRow

_FIELDS = (
    "name",
    "connection",
    "address",
    "port",
    "user",
    "key_path",
    "host_key",
    "workdir",
    "jump",
    "password",
    "passphrase",
    "sudo",
    "sudo_password",
    "distrusted",
    "labels",
)

MOST_JUMPS = 5
"""A longer chain of jump hosts is taken for a mistake."""

_LOCK_NAMES = text("LOCK TABLE repositories IN SHARE ROW EXCLUSIVE MODE")
_DISTRUST = text("UPDATE hosts SET distrusted = :reason WHERE name = :name AND distrusted IS NULL")


def save(connection: Connection, host: Host, *, replace: bool = False) -> None:
    """Enrol a host; a replaced host is trusted again and keeps its labels.

    Raises Rejected if a repository has the name, or a host has it and `replace` is not set.
    """
    lock_names(connection)
    if _repository_names(connection, RepositoryRow.name == host.name):
        raise Rejected(
            f"a repository is called {host.name!r}, and a target has one name: choose another one",
            stage="input",
            next_step=NextStep.of("repo show", host.name),
        )
    values = {name: getattr(host, name) for name in _FIELDS}
    values |= {"connection": host.connection.value, "labels": list(host.labels)}
    statement = upsert(HostRow).values(values)
    if replace:
        kept = {name: value for name, value in values.items() if name != "labels"}
        statement = statement.on_conflict_do_update(index_elements=["name"], set_=kept)
        connection.execute(statement)
        return
    inserted = connection.execute(statement.on_conflict_do_nothing().returning(HostRow.name))
    if inserted.scalar() is None:
        raise Rejected(
            f"a host called {host.name!r} is enrolled already",
            stage="input",
            next_step=NextStep.of("host remove", host.name),
        )


def lock_names(connection: Connection) -> None:
    """Let nobody else give a target a name before this transaction ends.

    Hosts and repositories share one name space, over two tables.
    """
    connection.execute(_LOCK_NAMES)


def all_hosts(connection: Connection) -> tuple[Host, ...]:
    """Every enrolled host, by name."""
    found = connection.execute(select(HostRow.__table__).order_by(HostRow.name))
    return tuple(_host(row) for row in found)


def find(connection: Connection, name: str) -> Host | None:
    """The host of that name, None if it is not enrolled; `localhost` always is."""
    row = connection.execute(select(HostRow.__table__).where(HostRow.name == name)).one_or_none()
    return from_row(row, name)


def from_row(row: Any, name: str) -> Host | None:
    """The host in the columns of `hosts` of a row; they are all empty if there is no such host."""
    if row is not None and row.name is not None:
        return _host(row)
    return LOCALHOST if name == LOCALHOST.name else None


def get(connection: Connection, name: str) -> Host:
    """The host of that name; raises Rejected, with the known names, if it is not enrolled."""
    found = find(connection, name)
    if found is not None:
        return found
    known = ", ".join(host.name for host in all_hosts(connection)) or "none"
    raise Rejected(
        f"host {name!r} is not enrolled; enrolled: {known}",
        stage="input",
        next_step=NextStep.of(
            "host add", name, address=Blank("ADDRESS"), user=Blank("USER"), key=Blank("FILE")
        ),
    )


def with_route(connection: Connection, host: Host) -> Host:
    """The host with its route: `via` is the jump host, with the route to that one.

    Raises Misconfigured if a host on the way is not enrolled or is distrusted, or if the route has
    a loop or is too long.
    """
    return _with_route(connection, host, (host.name,))


def _with_route(connection: Connection, host: Host, way: tuple[str, ...]) -> Host:
    if host.jump is None:
        return host
    if host.jump in way or len(way) > MOST_JUMPS:
        raise Misconfigured(
            f"the way to {way[0]} leads nowhere: {' → '.join((*way, host.jump))}",
            stage="connect",
            next_step=NextStep.of("host list"),
        )
    jump = find(connection, host.jump)
    if jump is None or jump.connection is not ConnectionKind.SSH:
        raise Misconfigured(
            f"{host.name} is reached through {host.jump}, which is not a host enrolled for SSH",
            stage="connect",
            next_step=NextStep.of(
                "host add",
                host.jump,
                address=Blank("ADDRESS"),
                user=Blank("USER"),
                key=Blank("FILE"),
            ),
        )
    require_trusted(jump)
    return replaced(host, via=_with_route(connection, jump, (*way, jump.name)))


def require_trusted(host: Host) -> None:
    """Raise Misconfigured, with what to do about it, if nothing may run on the host."""
    if host.distrusted:
        raise Misconfigured(
            f"{host.name} is disabled: {host.distrusted}",
            stage="host_key",
            next_step=NextStep.of("host add", host.name, replace_host_key=True),
        )


def distrust(connection: Connection, name: str, reason: str) -> bool:
    """Disable a host; False if it is disabled already or not enrolled."""
    return connection.execute(_DISTRUST, {"name": name, "reason": reason}).rowcount > 0


def label(connection: Connection, name: str, labels: Sequence[str]) -> None:
    """Give a host these labels in the place of all that it has. Raises Rejected."""
    get(connection, name)
    connection.execute(
        update(HostRow).where(HostRow.name == name).values(labels=list(dict.fromkeys(labels)))
    )


def keep_sudo(connection: Connection, name: str, found: str | None) -> None:
    """Keep what a check has found of sudo there; None, or what is not known: nothing is known."""
    known = found if found in set(SudoFound) else None
    connection.execute(update(HostRow).where(HostRow.name == name).values(sudo_found=known))


def sudo_found(connection: Connection, names: Iterable[str]) -> dict[str, SudoFound]:
    """What their last checks have found of sudo on these hosts, where that is known."""
    chosen = HostRow.name.in_(list(names)), HostRow.sudo_found.is_not(None)
    rows = connection.execute(select(HostRow.name, HostRow.sudo_found).where(*chosen))
    return {row.name: SudoFound(row.sudo_found) for row in rows}


def remove(connection: Connection, name: str) -> None:
    """Remove a host. Raises Rejected while a run on it has not ended, or others need it."""
    get(connection, name)
    lock_names(connection)
    behind = connection.execute(select(HostRow.name).where(HostRow.jump == name)).scalars().all()
    if behind:
        raise Rejected(
            f"{', '.join(sorted(behind))} can only be reached through {name}",
            stage="input",
            next_step=NextStep.of("host remove", min(behind)),
        )
    inside = _repository_names(connection, RepositoryRow.host == name)
    if inside:
        raise Rejected(
            f"these repositories are on {name}: {', '.join(inside)}",
            stage="input",
            next_step=NextStep.of("repo remove", inside[0]),
        )
    busy = connection.execute(
        select(func.count())
        .select_from(RunRow)
        .where(RunRow.target == name, RunRow.phase.not_in([p.value for p in ENDED_RUN]))
    ).scalar_one()
    if busy:
        raise Rejected(
            f"{busy} runs on {name} have not ended",
            stage="input",
            next_step=NextStep.of("task list", phase="running"),
        )
    connection.execute(delete(HostRow).where(HostRow.name == name))


def _repository_names(connection: Connection, which: ColumnElement[bool]) -> Sequence[str]:
    query = select(RepositoryRow.name).where(which).order_by(RepositoryRow.name)
    return connection.execute(query).scalars().all()


def _host(row: Any) -> Host:
    values = {name: getattr(row, name) for name in _FIELDS}
    kind, labels = ConnectionKind(row.connection), tuple(row.labels)
    return Host(**{**values, "connection": kind, "labels": labels})
