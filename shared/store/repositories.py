"""Repositories in rows: where each is, found by name, removed."""

from typing import Any

from sqlalchemy import Connection, delete, select, text
from sqlalchemy.dialects.postgresql import insert as upsert

from shared.domain.errors import Rejected
from shared.domain.next_step import Blank, NextStep
from shared.domain.target import Forge, Repository, TrustRule
from shared.domain.task import ENDED_RUN
from shared.store import hosts
from shared.store.repository_tables import RepositoryRow
from shared.wire import from_json, to_json

_FIELDS = (
    "name",
    "host",
    "path",
    "url",
    "branch",
    "setup",
    "setup_timeout",
    "checks",
    "runners",
    "copied",
    "labels",
    "trust",
    "forbidden_paths",
    "reviewers",
    "remote",
    "forge",
)
_LISTS = ("checks", "copied", "labels", "forbidden_paths", "reviewers")

_ENDED = ", ".join(f"'{phase}'" for phase in sorted(ENDED_RUN))
_USED = text("""
    SELECT EXISTS (SELECT FROM runs WHERE target = :name)
        OR EXISTS (SELECT FROM planned_steps WHERE body ->> 'repository' = :name)
""")
_BUSY = text(f"""
    SELECT count(*) FROM runs
    WHERE phase NOT IN ({_ENDED}) AND (target = :name OR EXISTS (
        SELECT FROM planned_steps
        WHERE run_id = runs.id AND planned_steps.body ->> 'repository' = :name
    ) OR EXISTS (
        SELECT FROM inbox
        WHERE inbox.task_id = runs.task_id AND inbox.body #> '{{plan,steps}}'
            @> jsonb_build_array(jsonb_build_object('repository', CAST(:name AS text)))
    ))
""")  # noqa: S608 - constants


def save(connection: Connection, repository: Repository, *, replace: bool = False) -> None:
    """Add a repository. Raises Rejected if its host is not enrolled or its name is taken.

    With `replace`, it takes the place of the repository of that name.
    """
    hosts.lock_names(connection)
    require_place(connection, repository, replace=replace)
    values = {name: getattr(repository, name) for name in _FIELDS}
    values |= {name: list(values[name]) for name in _LISTS}
    values["runners"] = None if repository.runners is None else list(repository.runners)
    values["trust"] = [to_json(rule) for rule in repository.trust]
    values["forge"] = None if repository.forge is None else to_json(repository.forge)
    statement = upsert(RepositoryRow).values(values)
    connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_=values))


def require_place(connection: Connection, repository: Repository, *, replace: bool) -> None:
    """Raise Rejected if its host is not enrolled, or if its name is taken."""
    hosts.get(connection, repository.host)
    if hosts.find(connection, repository.name) is not None:
        raise Rejected(
            f"a host is called {repository.name!r}, and a target has one name: choose another one",
            stage="input",
            next_step=NextStep.of("repo add", Blank("NAME"), path=Blank("FOLDER")),
        )
    if not replace and find(connection, repository.name) is not None:
        raise Rejected(
            f"there is already a repository called {repository.name!r}",
            stage="input",
            next_step=NextStep.of("repo show", repository.name),
        )


def all_repositories(connection: Connection) -> tuple[Repository, ...]:
    """Every repository, by name."""
    found = connection.execute(select(RepositoryRow.__table__).order_by(RepositoryRow.name))
    return tuple(map(from_row, found))


def find(connection: Connection, name: str) -> Repository | None:
    """The repository of that name, None if there is none."""
    query = select(RepositoryRow.__table__).where(RepositoryRow.name == name)
    row = connection.execute(query).one_or_none()
    return None if row is None else from_row(row)


def get(connection: Connection, name: str) -> Repository:
    """The repository of that name; raises Rejected, with the known names, if there is none."""
    found = find(connection, name)
    if found is None:
        raise unknown(connection, name)
    return found


def unknown(connection: Connection, name: str) -> Rejected:
    """The error for a name that is not a repository's."""
    known = ", ".join(each.name for each in all_repositories(connection)) or "none"
    return Rejected(
        f"{name!r} is not the name of a repository; known: {known}",
        stage="input",
        next_step=NextStep.of("repo add", name, path=Blank("FOLDER")),
    )


def was_used(connection: Connection, name: str) -> bool:
    """Whether a run has ever worked there, or was to."""
    return bool(connection.execute(_USED, {"name": name}).scalar_one())


def remove(connection: Connection, name: str) -> None:
    """Remove a repository. Raises Rejected while a run that works in it has not ended."""
    get(connection, name)
    busy = connection.execute(_BUSY, {"name": name}).scalar_one()
    if busy:
        raise Rejected(
            f"{busy} runs in {name} have not ended",
            stage="input",
            next_step=NextStep.of("task list", phase="running"),
        )
    connection.execute(delete(RepositoryRow).where(RepositoryRow.name == name))


def from_row(row: Any) -> Repository:
    """The repository in the columns of a row."""
    values = {name: getattr(row, name) for name in _FIELDS}
    values |= {name: tuple(values[name]) for name in _LISTS}
    values["runners"] = None if row.runners is None else tuple(row.runners)
    values["trust"] = tuple(from_json(TrustRule, rule) for rule in row.trust)
    values["forge"] = None if row.forge is None else from_json(Forge, row.forge)
    return Repository(**values)
