"""What the tests of a database that falls silent have in common."""

from collections.abc import Iterator

import pytest
from sqlalchemy import make_url

from tests.services.proxy import Proxy


@pytest.fixture
def link(database_url: str) -> Iterator[Proxy]:
    """A link to the test's database."""
    port = make_url(database_url).port
    assert port is not None
    with Proxy(port) as made:
        yield made
