"""Callers of acts on a database of their own, with a coordinator that takes up what they post."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.access import tokens
from orchestrator.access.actor import account
from orchestrator.access.authentication import authenticate
from orchestrator.access.roles import AccessRole
from orchestrator.acts.caller import Caller
from orchestrator.coordinator import Coordinator
from orchestrator.store import SqlLedger
from shared.settings import ServerSettings, Settings
from shared.store.database import Database

CallerWith = Callable[[AccessRole], Caller]


@pytest.fixture
def caller_with(database: Database, tmp_path: Path) -> Iterator[CallerWith]:
    """Who comes with a token of a role, as a face makes a caller of them."""
    stop = threading.Event()
    coordinator = Coordinator(SqlLedger(database))

    def coordinate() -> None:
        while not stop.wait(0.01):
            coordinator.drain()

    def enter(role: AccessRole) -> Caller:
        with database.begin() as connection:
            issued = tokens.create(connection, account(), role.value, role)
            actor = authenticate(connection, issued.bearer.text)
        settings = Settings(server=ServerSettings(data_dir=tmp_path))
        return Caller(actor, settings, database=database)

    thread = threading.Thread(target=coordinate)
    thread.start()
    yield enter
    stop.set()
    thread.join()
