"""What the tests of silent databases share."""

from collections.abc import Callable
from time import monotonic
from typing import Final

import pytest
from sqlalchemy import text

from shared.domain.errors import Transient
from shared.store.database import Database

MARGIN: Final = 8.0
"""Seconds that a busy machine may add to a deadline."""


def select(database: Database) -> None:
    """Ask something."""
    with database.autocommit() as connection:
        connection.execute(text("SELECT 1"))


def in_time(act: Callable[[], object], timeout: float) -> Transient:
    """The error of what a silent server must not hold up for longer than `timeout` seconds."""
    began = monotonic()
    with pytest.raises(Transient) as error:
        act()
    assert monotonic() - began < timeout + MARGIN
    return error.value
