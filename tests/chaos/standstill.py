"""How long nothing began although something was due, and which faults that was under."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

DUE: Final = """
    SELECT count(*) AS jobs FROM jobs WHERE state = 'open' AND due_at <= clock_timestamp()
"""
"""Jobs in hand are among them: whoever holds one may be waiting for an answer that never comes."""

LOOK_EVERY: Final = 0.25
"""Seconds between two questions to the database."""


class Asks(Protocol):
    """Rows, as far as they are needed here."""

    def soon(self, query: str, **values: object) -> Any:
        """The rows of a query; none at all when the database is away."""
        ...


@dataclass(frozen=True, slots=True)
class Gap:
    """A span (s since the epoch) in which nothing began and jobs were due."""

    since: float
    until: float

    @property
    def seconds(self) -> float:
        """How long it was."""
        return self.until - self.since


@dataclass
class StandStills:
    """Watches the beginnings of commands; `begun` says how many there have been so far.

    While the database cannot be asked, what was due before still counts as due.
    """

    rows: Asks
    begun: Callable[[], int]
    clock: Callable[[], float] = time.time
    gaps: list[Gap] = field(default_factory=list)
    due: int = 0
    _seen: int = 0
    _since: float | None = None
    _asked: float = 0.0

    def look(self) -> None:
        """See whether something has begun, and whether something is due."""
        now, begun = self.clock(), self.begun()
        if begun > self._seen:
            self._seen = begun
            self._end(now)
            self._since = now if self.due else None
        if now - self._asked >= LOOK_EVERY:
            self._asked = now
            self._ask(now)

    def longest(self, since: float, until: float) -> Gap | None:
        """The longest gap that overlaps a span, the one that lasts until now included."""
        now = self.clock()
        gaps = [*self.gaps, *([Gap(self._since, now)] if self._since is not None else [])]
        over = [gap for gap in gaps if gap.since <= until and since <= gap.until]
        return max(over, key=lambda gap: gap.seconds, default=None)

    def _ask(self, now: float) -> None:
        found = self.rows.soon(DUE)
        if not found:
            return
        self.due = found[0].jobs
        if not self.due:
            self._end(now)
        elif self._since is None:
            self._since = now

    def _end(self, now: float) -> None:
        if self._since is not None:
            self.gaps.append(Gap(self._since, now))
        self._since = None


def beyond(gap: Gap, spans: Iterable[tuple[float, float]]) -> float:
    """The seconds of a gap after the last of the spans that overlap it."""
    ends = [until for since, until in spans if since <= gap.until and gap.since <= until]
    return gap.until - max([gap.since, *(min(end, gap.until) for end in ends)])
