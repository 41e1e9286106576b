"""A Postgres and a Valkey of a test's own, which it may stop and start again at the same place."""

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from orchestrator.embedded.services import EmbeddedServices, start
from shared.store.migrate import upgrade
from tests.services.ring import Ring


class Breakable:
    """The servers; both run until told otherwise."""

    def __init__(self, services: EmbeddedServices) -> None:
        self._services = services
        self.database_url = services.database_url
        self.admin_url = services.admin_url
        self.broker_url = services.broker_url

    def stop_broker(self) -> None:
        """End Valkey; what it held is gone."""
        self._services.supervisor.remove("valkey")

    def start_broker(self) -> None:
        """Start it where it was; returns once it answers."""
        assert self._services._valkey is not None
        start(self._services.supervisor, self._services._valkey)
        assert self._services.broker_url == self.broker_url

    def stop_database(self) -> None:
        """End Postgres, whoever is connected."""
        self._services.supervisor.remove("postgres")

    def start_database(self) -> None:
        """Start it where it was; returns once it answers."""
        assert self._services._postgres is not None
        start(self._services.supervisor, self._services._postgres)
        assert self._services.database_url == self.database_url

    def restart_database_at_once(self) -> None:
        """Shut Postgres down immediately, without a checkpoint; it recovers when started again."""
        states = self._services.supervisor.status()
        pid = next(state.pid for state in states if state.name == "postgres")
        assert pid is not None
        os.kill(pid, signal.SIGQUIT)

    def empty_broker(self) -> None:
        """Have the broker forget everything."""
        with redis.Redis.from_url(self.broker_url) as client:
            client.flushall()

    def waiting_clients(self) -> int:
        """How many connections wait at the broker for messages of the queues."""
        with redis.Redis.from_url(self.broker_url) as client:
            return sum(entry["cmd"] == "brpop" for entry in client.client_list())


@pytest.fixture
def unmigrated() -> Iterator[Breakable]:
    """Servers of this test's own with an empty database, removed with the test."""
    with (
        tempfile.TemporaryDirectory(prefix="replan-breakable-") as folder,
        EmbeddedServices(Path(folder), durable=False) as services,
    ):
        yield Breakable(services)


@pytest.fixture
def breakable(unmigrated: Breakable) -> Breakable:
    """Servers of this test's own with the product's tables."""
    upgrade(unmigrated.database_url)
    return unmigrated


@pytest.fixture
def breakable_ring(breakable: Breakable, tmp_path: Path) -> Iterator[Ring]:
    """A ring on them with nothing started yet; ended with the test."""
    ring = Ring(breakable.database_url, breakable.broker_url, tmp_path)
    yield ring
    ring.stop()
