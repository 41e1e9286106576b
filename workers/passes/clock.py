"""The clock of a pass: the time of day, and waiting."""

import time
from datetime import UTC, datetime
from typing import Protocol

from workers.passes.ports import Cancelled

_SLICE = 0.25


class Clock(Protocol):
    """Tells the time and waits."""

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
    """Wait in short slices; return False as soon as the work is cancelled."""
    left = seconds
    while left > 0:
        if cancelled():
            return False
        clock.wait(min(_SLICE, left))
        left -= _SLICE
    return not cancelled()
