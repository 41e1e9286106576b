"""What tests on a real database begin with."""

from collections.abc import Iterator

import pytest

from shared.store.database import Database


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A migrated database without rows."""
    opened = Database(database_url)
    yield opened
    opened.close()
