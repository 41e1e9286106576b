"""A database of its own, and somebody who acts."""

from collections.abc import Iterator

import pytest

from orchestrator.access.actor import Actor
from orchestrator.access.roles import Role
from shared.store.database import Database


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A migrated database without rows."""
    opened = Database(database_url)
    yield opened
    opened.close()


@pytest.fixture
def ann() -> Actor:
    """An admin."""
    return Actor("ann@box", Role.ADMIN)
