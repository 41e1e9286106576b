"""Where the name of a target leads: to a host, or to a repository on one."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, select

from shared.domain.errors import Rejected
from shared.domain.host import LOCALHOST, Host
from shared.domain.next_step import NextStep
from shared.domain.plan import Step
from shared.domain.target import Repository
from shared.store import hosts, repositories
from shared.store.repository_tables import RepositoryRow
from shared.store.tables import HostRow


@dataclass(frozen=True, slots=True)
class Place:
    """A host, and the repository on it in which the work is done; None: on the host itself."""

    host: Host
    repository: Repository | None = None

    @property
    def start(self) -> str | None:
        """The folder in which commands start; None for the account's home, and for a workspace.

        The path of a workspace is known once it is made.
        """
        return None if self.repository is not None else self.host.workdir


def find(connection: Connection, name: str) -> Place | None:
    """The place of that name, None if neither a host nor a repository has it.

    None, too, for a repository whose host is not enrolled.
    """
    repository = repositories.find(connection, name)
    host = hosts.find(connection, name if repository is None else repository.host)
    return None if host is None else Place(host, repository)


def host_of(connection: Connection, name: str) -> Host | None:
    """The host of that name, or the one that the repository of that name is on; None for none."""
    found = find(connection, name)
    return None if found is None else found.host


def start_of(connection: Connection, name: str) -> str | None:
    """The folder in which commands start at the place of that name; None if it is not known."""
    found = find(connection, name)
    return None if found is None else found.start


def name_for(step: Step, target: str) -> str:
    """The name of the place of a step in a run on that target."""
    return target if step.repository is None else step.repository


def places_of(
    connection: Connection, step: Step, on: Iterable[str]
) -> dict[str, Repository | None]:
    """Where a step happens on each of these targets, by name; None: on a host itself."""
    names = {name_for(step, target): None for target in on}
    return {name: repositories.find(connection, name) for name in names}


def usable_repositories(connection: Connection) -> tuple[Repository, ...]:
    """The repositories in which somebody can work now: their host is enrolled and trusted."""
    unlisted = HostRow.name.is_(None) & (RepositoryRow.host == LOCALHOST.name)
    trusted = HostRow.name.is_not(None) & HostRow.distrusted.is_(None)
    query = (
        select(RepositoryRow.__table__)
        .join(HostRow, HostRow.name == RepositoryRow.host, isouter=True)
        .where(trusted | unlisted)
        .order_by(RepositoryRow.name)
    )
    return tuple(map(repositories.from_row, connection.execute(query)))


def reach(connection: Connection, name: str) -> Place:
    """The place of that name, its host with its route; raises Rejected if there is none."""
    place = find(connection, name) or Place(hosts.get(connection, name))
    return Place(hosts.with_route(connection, place.host), place.repository)


def require_usable(connection: Connection, names: Iterable[str]) -> None:
    """Raise Rejected for a repository that is named and cannot be used."""
    for name in names:
        place = find(connection, name)
        if place is None or place.repository is None or place.host.distrusted:
            raise refusal_of_repository(connection, name)


def refusal_of_repository(connection: Connection, name: str) -> Rejected:
    """The error for a repository that cannot be used.

    Raises Misconfigured if nothing may run on its host.
    """
    known = repositories.find(connection, name)
    if known is None:
        return repositories.unknown(connection, name)
    hosts.require_trusted(hosts.get(connection, known.host))
    return Rejected(
        f"the repository {name!r} has just been changed: submit it again",
        stage="input",
        next_step=NextStep.of("repo show", name),
    )
