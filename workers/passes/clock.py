"""The time, and waiting, as the executor needs them."""

import time
from datetime import UTC, datetime
from typing import Protocol

from workers.passes.ports import Cancelled

_SLICE = 0.25


class Clock(Protocol):
    """The time of day and the passing of it."""

    def now(self) -> datetime:
        """The time in UTC."""
        ...

    def wait(self, seconds: float) -> None:
        """Return after that many seconds."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """The time in UTC."""
        return datetime.now(UTC)

    def wait(self, seconds: float) -> None:
        """Return after that many seconds."""
        time.sleep(seconds)


def wait_unless(cancelled: Cancelled, clock: Clock, seconds: float) -> bool:
    """Wait in short slices; returns False as soon as the work is cancelled."""
    left = seconds
    while left > 0:
        if cancelled():
            return False
        clock.wait(min(_SLICE, left))
        left -= _SLICE
    return not cancelled()
