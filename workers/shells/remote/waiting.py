"""When to stop waiting for a command: deadlines, cancellation, and streams held open."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum

from shared.domain.attempt import CommandResult, EndedBy
from workers.passes.ports import Cancelled

POLL_SECONDS = 0.1
"""How often `cancelled` is asked."""

HELD_SECONDS = 1.0
"""How long a stream may stay silent and open after the command itself has exited."""

HELD_AT_MOST = 3.0
"""How long it may stay open when something goes on writing."""


class Stop(Enum):
    """Why waiting ended."""

    EXITED = "exited"
    HELD = "held"  # exited, but a process in the background keeps the streams open
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

    def passed(self) -> Stop | None:
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


class Aftermath:
    """The time after a command has exited, while its streams are still open."""

    def __init__(self) -> None:
        self._exited_at: float | None = None
        self._heard_at = 0.0

    @property
    def begun(self) -> bool:
        """True once the command is known to have exited."""
        return self._exited_at is not None

    def heard(self) -> None:
        """Output arrived."""
        self._heard_at = time.monotonic()

    def over(self) -> bool:
        """Begins it when called first; True when waiting any longer makes no sense."""
        now = time.monotonic()
        if self._exited_at is None:
            self._exited_at = self._heard_at = now
        silent = now - self._heard_at >= HELD_SECONDS
        return silent or now - self._exited_at >= HELD_AT_MOST

    def patience(self) -> float:
        """How many seconds one may wait before looking again."""
        return max(0.01, self._heard_at + HELD_SECONDS - time.monotonic())


def never_ran(command: str) -> CommandResult:
    """The result of a command that was cancelled before it began."""
    now = datetime.now(UTC)
    return CommandResult(command, None, b"", b"", now, now, ended_by=EndedBy.CANCEL)
