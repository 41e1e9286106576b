"""A session whose work was accepted: its rows, its commits on the host, and its remote."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from shared.store.database import Database
from tests.integration.deliveries.checkpoints.accepted import Accepted
from workers.shells.remote.connections import HostConnections


@pytest.fixture(scope="session")
def connections() -> Iterator[HostConnections]:
    """Connections to this machine."""
    with closing(HostConnections()) as made:
        yield made


@pytest.fixture
def accepted(tmp_path: Path, database: Database, connections: HostConnections) -> Accepted:
    """A session that has accepted one delivery, with a bare remote."""
    return Accepted.at(tmp_path, database, connections)
