"""Real shells: on this machine and over SSH."""

from collections.abc import Iterator

import pytest

from shared.domain.host import Connection, Host
from tests.integration.remote.hosts import ssh_host
from workers.ports import Shell
from workers.remote.connections import HostConnections


@pytest.fixture
def connections() -> Iterator[HostConnections]:
    """Connections of this test alone."""
    opened = HostConnections()
    yield opened
    opened.close()


@pytest.fixture(params=["local", "ssh"])
def host(request: pytest.FixtureRequest) -> Host:
    """A host of each kind."""
    if request.param == "local":
        return Host("here", Connection.LOCAL)
    return ssh_host(request.getfixturevalue("sshd"))


@pytest.fixture
def shell(host: Host, connections: HostConnections) -> Shell:
    """A shell on it."""
    return connections.shell(host)
