"""One enrolled host."""

from dataclasses import dataclass

from sqlalchemy import Connection

from shared.domain.host import Host, SudoFound
from shared.store import hosts


@dataclass(frozen=True, slots=True)
class HostDetails:
    """A host, the fingerprint of its pinned key, and what its last check has found of sudo."""

    host: Host
    fingerprint: str
    sudo_found: SudoFound | None


def host_details(connection: Connection, name: str) -> HostDetails:
    """An enrolled host. Raises Misconfigured where there is none of that name."""
    host = hosts.get(connection, name)
    return HostDetails(host, host.fingerprint, hosts.sudo_found(connection, [name]).get(name))
