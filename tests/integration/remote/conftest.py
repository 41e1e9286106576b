"""Real shells: on this machine and over SSH."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.domain.host import ConnectionKind, Host
from tests.integration.remote.drivers import Drivers
from tests.integration.remote.hosts import ssh_host
from tests.integration.remote.shells import READ_BY, Machine, machine
from workers.shells.ports import Shell
from workers.shells.remote.connections import HostConnections


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
        return Host("here", ConnectionKind.LOCAL)
    return ssh_host(request.getfixturevalue("sshd"))


@pytest.fixture
def shell(host: Host, connections: HostConnections) -> Shell:
    """A shell on it."""
    return connections.shell(host)


@pytest.fixture(params=READ_BY)
def on(request: pytest.FixtureRequest, tmp_path: Path) -> Machine:
    """A machine of each kind."""
    return machine(tmp_path, request.param)


@pytest.fixture
def drivers(on: Machine) -> Iterator[Drivers]:
    """Makes drivers; all their runners are ended afterwards."""
    made = Drivers(on)
    yield made
    for driver in made.all:
        with driver.pool:
            driver.gone.set()


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Where commands leave a line for each time that they run."""
    return tmp_path / "ledger"
