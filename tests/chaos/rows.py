"""The harness's own way to the rows: past every proxy, and patient while the database is away."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sqlalchemy import text

from orchestrator.acts.caller import Caller
from orchestrator.acts.interventions import answer
from orchestrator.acts.submission import submit
from shared.domain.errors import Transient
from shared.domain.records import RecordsAnswer
from shared.settings import Settings
from shared.store import hosts
from shared.store.database import Database
from tests.chaos.orders import Order
from tests.chaos.stage_host import StageHost

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds that the database may be away."""


class Rows:
    """Each question goes over a connection of its own, since any connection may be killed."""

    def __init__(self, url: str) -> None:
        self._database = Database(url, pooled=False)
        self._pause = threading.Event()

    def all(self, query: str, **values: object) -> Sequence[Any]:
        """The rows of a query, asked again for as long as the database is away."""
        return self._patiently(lambda: self._ask(query, values))

    def soon(self, query: str, **values: object) -> Sequence[Any]:
        """The rows of a query; none at all when the database is away."""
        try:
            return self._ask(query, values)
        except Transient:
            return ()

    def submit_once(self, order: Order) -> int:
        """Submit a task under its tag, with one number however often. Raises Transient."""
        return submit(self._database, order.submission)

    def adopt(self, intervention_id: int) -> None:
        """Say, as an operator, that what a host has recorded counts. Raises ReplanError."""
        caller = Caller.of_account(Settings(), self._database)
        answer(caller, f"I{intervention_id}", RecordsAnswer.ADOPT)

    def enrol(self, host: StageHost) -> None:
        """Enter a host at the near end of its link."""
        with self._database.begin() as connection:
            hosts.save(connection, host.as_seen())

    def close(self) -> None:
        """Give everything back."""
        self._database.close()

    def _ask(self, query: str, values: dict[str, object]) -> Sequence[Any]:
        with self._database.begin() as connection:
            answer = connection.execute(text(query), values)
            return answer.all() if answer.returns_rows else ()

    def _patiently(self, ask: Callable[[], T]) -> T:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return ask()
            except Transient:
                if time.monotonic() > deadline:
                    raise
                self._pause.wait(0.1)
