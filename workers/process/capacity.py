"""Limits how many jobs a process holds at once, whether it received them or polled for them."""

import threading
from collections.abc import Sequence


class Capacity:
    """Gives out `limit` places, one for each job in hand, and none after `close`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._free = limit
        self._closed = False
        self._changed = threading.Condition()

    @property
    def taken(self) -> int:
        """The number of places in use."""
        with self._changed:
            return self._limit - self._free

    def take(self) -> bool:
        """Wait for a place and take it; returns False if this process takes no more jobs."""
        with self._changed:
            self._changed.wait_for(lambda: self._free > 0 or self._closed)
            if self._closed:
                return False
            self._free -= 1
            return True

    def take_free(self, at_most: int | None = None) -> int:
        """Take the places that are free now, up to `at_most`; returns the number taken."""
        with self._changed:
            taken = 0 if self._closed else self._free
            taken = taken if at_most is None else min(taken, at_most)
            self._free -= taken
            return taken

    def give_back(self, places: int = 1) -> None:
        """Return places that were taken."""
        with self._changed:
            self._free += places
            self._changed.notify(places)

    def close(self) -> None:
        """Give out no more places."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class AllPlaces:
    """The places of several crews together."""

    def __init__(self, crews: Sequence[Capacity]) -> None:
        self._crews = crews

    @property
    def taken(self) -> int:
        """The number of places in use."""
        return sum(capacity.taken for capacity in self._crews)

    def close(self) -> None:
        """Give out no more places."""
        for capacity in self._crews:
            capacity.close()
