"""When to stop waiting for a command: deadlines and cancellation."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum

from shared.domain.attempt import CommandResult, EndedBy
from workers.passes.ports import Cancelled

POLL_SECONDS = 0.1
"""How often `cancelled` is asked."""


class Stop(Enum):
    """Why waiting ended."""

    EXITED = "exited"
    LOST = "lost"  # nobody will ever say how the command ended
    TIMED_OUT = "timed out"
    CANCELLED = "cancelled"


ENDED_BY = {Stop.TIMED_OUT: EndedBy.TIMEOUT, Stop.CANCELLED: EndedBy.CANCEL}
"""Who ended a command, where waiting ended before it did."""


@dataclass(slots=True)
class Deadline:
    """When a command must end: after some seconds, or once somebody wishes it."""

    seconds: float
    cancelled: Cancelled | None = None
    _at: float = field(init=False)
    _ask_at: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self._at = time.monotonic() + self.seconds

    def stop_reason(self) -> Stop | None:
        """Why to stop now, if so."""
        now = time.monotonic()
        if self.cancelled is not None and now >= self._ask_at:
            self._ask_at = now + POLL_SECONDS
            if self.cancelled():
                return Stop.CANCELLED
        return Stop.TIMED_OUT if now >= self._at else None

    def patience(self) -> float:
        """How many seconds one may wait before looking again."""
        left = max(0.0, self._at - time.monotonic())
        return left if self.cancelled is None else min(left, POLL_SECONDS)

    def restart(self) -> None:
        """Count from now."""
        self._at = time.monotonic() + self.seconds

    def shorten(self, seconds: float) -> None:
        """Pass after that many seconds from now, unless it passes before."""
        self._at = min(self._at, time.monotonic() + seconds)

    def pause(self, seconds: float) -> None:
        """Wait for so long, or until the deadline has passed, if that comes first."""
        time.sleep(min(seconds, max(0.0, self._at - time.monotonic()) or seconds))


def never_ran(command: str) -> CommandResult:
    """The result of a command that was cancelled before it began."""
    now = datetime.now(UTC)
    return CommandResult(command, None, b"", b"", now, now, ended_by=EndedBy.CANCEL)
