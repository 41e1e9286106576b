"""Processes that are connected to a database as coordinators and workers are, and do nothing."""

import itertools
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version

from shared.domain.process_name import ALL, COORDINATOR, ProcessName
from shared.store import presence
from shared.store.database import Database

_NUMBERS = itertools.count(1_000_000)


@contextmanager
def connected(database: Database, *roles: str, replan: str | None = None) -> Iterator[int]:
    """A process with these roles, on host `web-1`; yields the number of its presence."""
    number = next(_NUMBERS)
    name = ProcessName(replan or version("replan"), roles, number, "web-1")
    with database.listen() as session:
        if roles == (COORDINATOR,):
            presence.show_coordinator(session, number, name)
        else:
            assert presence.show(session, number, name)
        yield number


@contextmanager
def attended(database: Database) -> Iterator[None]:
    """A coordinator, and a worker that serves every queue."""
    with ExitStack() as stack:
        stack.enter_context(connected(database, COORDINATOR))
        stack.enter_context(connected(database, ALL))
        yield
