"""How long a supervised process rests between its death and its next start."""

from dataclasses import dataclass
from typing import Final

HEALTHY_AFTER: Final = 5.0
"""A process that was ready for so many seconds has proved itself: it starts again at once."""

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 5.0
"""Seconds; the pause doubles with each quick death."""

LONGEST_ONCE_READY: Final = 1.0
"""Seconds, if it became ready before it died: its start works, so somebody else has ended it."""


@dataclass(slots=True)
class Backoff:
    """The pauses of one process: they grow with quick deaths, and health ends them."""

    quick_deaths: int = 0

    def pause(self, ready_for: float | None) -> float:
        """The pause in seconds after a death; `ready_for` is None if it was never ready."""
        if ready_for is not None and ready_for >= HEALTHY_AFTER:
            self.quick_deaths = 0
            return 0.0
        self.quick_deaths += 1
        longest = LONGEST_PAUSE if ready_for is None else LONGEST_ONCE_READY
        return min(longest, FIRST_PAUSE * 2.0 ** min(self.quick_deaths - 1, 10))
