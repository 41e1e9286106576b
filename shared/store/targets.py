"""Where the name of a target leads: to a host, or to a repository on one."""

from dataclasses import dataclass

from sqlalchemy import Connection

from shared.domain.host import Host
from shared.domain.plan import Step
from shared.domain.target import Repository
from shared.store import hosts, repositories


@dataclass(frozen=True, slots=True)
class Place:
    """A host, and the repository on it in which the work is done; None: on the host itself."""

    host: Host
    repository: Repository | None = None


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


def name_for(step: Step, target: str) -> str:
    """The name of the place of a step in a run on that target."""
    return target if step.repository is None else step.repository
