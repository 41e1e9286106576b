"""Watches one running agent by the rules of `watchdog`, for the driver of its attempt."""

import threading
from collections.abc import Callable, Sequence
from time import monotonic

from shared.domain.agent import StuckStrategy, Watchdog
from workers.agents.events import AgentEvent
from workers.agents.watchdog import Signs, Stuck, Watch, response


class Watcher:
    """The watch over one attempt; `found` is what it was last found to be stuck in.

    `times` counts how often it was found stuck, and `is_over` says that it must be ended for it.
    """

    def __init__(
        self,
        watchdog: Watchdog,
        now: Callable[[], float] = monotonic,
        *,
        has_events: bool = True,
        taken_over: bool = False,
    ) -> None:
        """`has_events` is the runner's; `taken_over` if another driver has started the attempt."""
        self.found: Stuck | None = None
        self.times = 0
        self.is_over = False
        self._watchdog = watchdog
        self._now = now
        self._watch = Watch.begin(now(), has_events=has_events)
        self._taken_over = taken_over
        self._lock = threading.Lock()

    def hear(self, events: Sequence[AgentEvent]) -> None:
        """Take note of what the runner says."""
        with self._lock:
            self._watch = self._watch.hear(events, self._now())

    def see(self, signs: Signs, quiet: float | None = None) -> StuckStrategy | None:
        """Look at the attempt, and return what to do now; None for nothing.

        `quiet` is for how many seconds its stream has not grown, None if that is not known: a
        driver that has taken it over counts them, too. Its first look judges nothing: an agent
        whose stream is quiet may be busy all the same, which only a second look shows.
        """
        with self._lock:
            at = self._now()
            is_first = self._taken_over
            self._taken_over = False
            if is_first and quiet is not None:
                self._watch = self._watch.since(at - quiet)
            if self.is_over:
                return None
            self._watch = self._watch.see(signs, at, self._watchdog)
            if is_first:
                return None
            stuck = self._watch.stuck(at, self._watchdog)
            strategy = response(self._watch, stuck, self._watchdog)
            if strategy is None:
                return None
            self.found = stuck
            self.times += 1
            self._watch = self._watch.told()
            self.is_over = strategy is not StuckStrategy.NOTIFY
            return strategy
