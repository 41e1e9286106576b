"""Learning from finished work never changes that work."""

from typing import Any

import pytest
from sqlalchemy import Connection, text

from orchestrator import learning
from orchestrator.core.decisions import Learn
from shared.store import fixes
from shared.store.database import Database


def test_what_cannot_be_learnt_leaves_the_commit_as_it_was(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(connection: Connection, *_: Any, **__: Any) -> bool:
        return bool(connection.execute(text("SELECT 1 / 0")).scalar())

    monkeypatch.setattr(fixes, "settle", broken)
    database = Database(database_url)
    with database.begin() as connection:
        connection.execute(text("CREATE TABLE kept AS SELECT 1 AS n"))
        learning.learn(connection, 1, Learn(1, 1, worked=True))
    with database.begin() as connection:
        assert connection.execute(text("SELECT n FROM kept")).scalar() == 1
    database.close()
