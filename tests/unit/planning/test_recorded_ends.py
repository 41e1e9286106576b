"""The end of a planner's call is recorded although the database is away for a moment."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest

from shared.domain.errors import Unavailable
from shared.store.database import Database
from workers import call_ledger
from workers.call_ledger import CallLedger
from workers.llm.prices import Prices


class Away:
    """A database that is away for so many tries."""

    def __init__(self, tries: int) -> None:
        self._left = tries

    @contextmanager
    def begin(self) -> Iterator[str]:
        """See `Database`."""
        if self._left:
            self._left -= 1
            raise Unavailable("the database is away", stage="database")
        yield "a connection"


@pytest.mark.parametrize(("tries", "written"), [(0, 1), (1, 1), (2, 1), (3, 0)])
def test_there_is_a_try_after_the_last_pause(
    tries: int, written: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_ledger, "_PAUSES", (0.0, 0.0))
    found: list[Any] = []
    ledger = CallLedger(cast("Database", Away(tries)), Prices([]), 0.0)
    ledger.write(lambda *said: found.append(said), 7)
    assert found == [("a connection", 7)] * written
