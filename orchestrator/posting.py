"""What people want of tasks that are there: facts, posted like everybody else's."""

import time
from collections.abc import Callable, Sequence

from sqlalchemy import Connection, func, select

from shared.store import inbox
from shared.store.database import Database
from shared.store.inbox import Report
from shared.store.tables import InboxRow

PATIENCE = 5.0
"""Seconds to wait for a coordinator to take a fact up."""

_LOOK_EVERY = 0.05


def post(database: Database, reports: Sequence[Report]) -> bool:
    """Report facts; returns whether a coordinator has taken them up within `PATIENCE`."""
    with database.begin() as connection:
        inbox.send(connection, reports)
        newest = connection.execute(select(func.max(InboxRow.id))).scalar() or 0
    tasks = {task_id for task_id, _, _ in reports}
    return _until(database, lambda connection: not _pending(connection, tasks, newest))


def _pending(connection: Connection, tasks: set[int], newest: int) -> int:
    return connection.execute(
        select(func.count())
        .select_from(InboxRow)
        .where(InboxRow.task_id.in_(tasks), InboxRow.id <= newest)
    ).scalar_one()


def _until(database: Database, holds: Callable[[Connection], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with database.begin() as connection:
            if holds(connection):
                return True
        time.sleep(_LOOK_EVERY)
    return False
