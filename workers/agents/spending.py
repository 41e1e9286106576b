"""What the agents of a subtask may spend on models, and whether a call of theirs was refused."""

from contextlib import suppress
from decimal import Decimal
from typing import Final, Protocol

from shared.domain.errors import Defect, Transient
from shared.domain.ids import place_of_key
from shared.domain.spending import CapReached
from shared.store import budgets
from shared.store.database import Database
from workers.agents.heartbeat import Heartbeat

_LOOK_EVERY: Final = 1.0
"""Seconds between two looks whether the gateway has refused a call of an attempt."""


class Spending(Protocol):
    """The account of attempts. Its functions raise Transient while it is unavailable."""

    def allow(self, key: str, dollars: float) -> None:
        """Let the agents of its subtask spend so much, before an attempt starts or is taken over.

        What a person has allowed in place of it stays.
        """
        ...

    def cap_reached(self, key: str) -> CapReached | None:
        """The cap for which the gateway refused a call of an attempt; None if it refused none."""
        ...


class Unmetered:
    """Where nobody counts: no call is refused."""

    def allow(self, key: str, dollars: float) -> None:
        """See `Spending`."""

    def cap_reached(self, key: str) -> CapReached | None:  # noqa: ARG002 - see there
        """See `Spending`."""
        return None


class SpendingWatch:
    """Watches whether an attempt can pay its calls; `unpaid` is the first cap that it has met."""

    def __init__(self, spending: Spending, key: str) -> None:
        self.unpaid: CapReached | None = None
        self._spending = spending
        self._key = key

    @property
    def is_over(self) -> bool:
        """Whether it cannot go on."""
        return self.unpaid is not None

    def look(self) -> CapReached | None:
        """Look now; raises what the account raises."""
        if self.unpaid is None:
            self.unpaid = self._spending.cap_reached(self._key)
        return self.unpaid

    def watching(self) -> Heartbeat:
        """Looks again and again within the block, unless the account is unavailable."""

        def beat() -> None:
            with suppress(Transient):
                self.look()

        return Heartbeat(_LOOK_EVERY, beat)


class LedgerSpending:
    """The account in the database, in whose rows the gateway finds budgets and notes refusals."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def allow(self, key: str, dollars: float) -> None:
        """See `Spending`."""
        place = place_of_key(key)
        if place is None:
            raise Defect(f"{key} is not the key of an attempt", stage="execute")
        with self._database.begin() as connection:
            budgets.plan(connection, place, Decimal(str(dollars)))

    def cap_reached(self, key: str) -> CapReached | None:
        """See `Spending`."""
        with self._database.autocommit() as connection:
            return budgets.cap_reached(connection, key)
