"""A relay leaves no connection behind, whatever its connections are doing when it closes."""

import asyncio
import gc
import socket
import threading
import warnings
from collections.abc import Iterator

import pytest

from orchestrator.embedded import port as ports
from tests.services.relay import Connection, Relay

LINGERING = "lingering"
WAITING = "waiting"


class OpeningRelay(Relay[Connection]):
    """Opens a second connection for each client, and then behaves as `mode` says."""

    def __init__(self, target: int, mode: str) -> None:
        super().__init__()
        self.opened = threading.Event()
        self._target = target
        self._mode = mode

    def connection(self, writer: asyncio.StreamWriter) -> Connection:
        return Connection([writer])

    async def serve(self, reader: asyncio.StreamReader, connection: Connection) -> None:
        await connection.open(self._target)
        self.opened.set()
        try:
            if self._mode == WAITING:
                await asyncio.Event().wait()
            await reader.read()
        finally:
            if self._mode == LINGERING:
                await asyncio.Event().wait()


@pytest.fixture
def target() -> Iterator[int]:
    """A port that takes connections and says nothing."""
    with socket.create_server((ports.LOOPBACK, 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize("mode", [WAITING, LINGERING])
@pytest.mark.parametrize("client_leaves", [False, True])
def test_it_closes_what_it_opened(target: int, mode: str, *, client_leaves: bool) -> None:
    with warnings.catch_warnings(record=True, action="always", category=ResourceWarning) as left:
        with OpeningRelay(target, mode) as relay:
            client = socket.create_connection((ports.LOOPBACK, relay.port))
            assert relay.opened.wait(10)
            if client_leaves:
                client.close()
        client.close()
        del relay, client
        gc.collect()
    assert [str(each.message) for each in left] == []


def test_it_closes_those_it_has_not_met_yet(target: int) -> None:
    """Also a client who comes in the very moment in which it closes."""
    with warnings.catch_warnings(record=True, action="always", category=ResourceWarning) as left:
        for _ in range(20):
            with OpeningRelay(target, WAITING) as relay:
                client = socket.create_connection((ports.LOOPBACK, relay.port))
            client.close()
        gc.collect()
    assert [str(each.message) for each in left] == []
