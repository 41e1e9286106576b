"""Real shells: on this machine and over SSH."""

from collections.abc import Iterator

import pytest

from shared.domain.host import Connection, Host
from tests.integration.remote.hosts import ssh_host
from workers.ports import Shell
from workers.remote.local import LocalShell
from workers.remote.ssh import SshConnections


@pytest.fixture
def connections() -> Iterator[SshConnections]:
    """SSH connections of this test alone."""
    opened = SshConnections()
    yield opened
    opened.close()


@pytest.fixture(params=["local", "ssh"])
def host(request: pytest.FixtureRequest) -> Host:
    """A host of each kind."""
    if request.param == "local":
        return Host("here", Connection.LOCAL)
    return ssh_host(request.getfixturevalue("sshd"))


@pytest.fixture
def shell(host: Host, connections: SshConnections) -> Shell:
    """A shell on it."""
    return LocalShell(host) if host.connection is Connection.LOCAL else connections.shell(host)
