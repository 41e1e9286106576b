"""Decides when to stop waiting for a command: deadlines and cancellation."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum

from shared.domain.attempt import CommandResult, EndedBy
from workers.passes.ports import Cancelled

POLL_SECONDS = 0.1
"""Seconds between two calls of `cancelled`."""


class Stop(Enum):
    """Why waiting ended."""

    EXITED = "exited"
    LOST = "lost"  # nobody will ever say how the command ended
    TIMED_OUT = "timed out"
    CANCELLED = "cancelled"


ENDED_BY = {Stop.TIMED_OUT: EndedBy.TIMEOUT, Stop.CANCELLED: EndedBy.CANCEL}
"""What ended a command, if waiting ended before the command did."""


@dataclass(slots=True)
class Deadline:
    """When a command must end: after so many seconds, or once it is cancelled."""

    seconds: float
    cancelled: Cancelled | None = None
    _at: float = field(init=False)
    _ask_at: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self._at = time.monotonic() + self.seconds

    def stop_reason(self) -> Stop | None:
        """The reason to stop now; None if there is none."""
        now = time.monotonic()
        if self.cancelled is not None and now >= self._ask_at:
            self._ask_at = now + POLL_SECONDS
            if self.cancelled():
                return Stop.CANCELLED
        return Stop.TIMED_OUT if now >= self._at else None

    def patience(self) -> float:
        """How many seconds a caller may wait before it looks again."""
        left = max(0.0, self._at - time.monotonic())
        return left if self.cancelled is None else min(left, POLL_SECONDS)

    def restart(self) -> None:
        """Start counting again."""
        self._at = time.monotonic() + self.seconds

    def shorten(self, seconds: float) -> None:
        """Move the deadline to that many seconds from now, unless it is earlier."""
        self._at = min(self._at, time.monotonic() + seconds)

    def pause(self, seconds: float) -> None:
        """Wait for that many seconds, or until the deadline if that is earlier."""
        time.sleep(min(seconds, max(0.0, self._at - time.monotonic()) or seconds))


def never_ran(command: str) -> CommandResult:
    """The result of a command that was cancelled before it began."""
    now = datetime.now(UTC)
    return CommandResult(command, None, b"", b"", now, now, ended_by=EndedBy.CANCEL)
