"""Watches one running agent by the rules of `watchdog`, for the driver of its attempt."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import monotonic

from shared.domain.agent import StuckStrategy, Watchdog
from shared.domain.attempt_notes import FoundStuck
from workers.agents.events import AgentEvent
from workers.agents.watchdog import Signs, Stuck, Watch, response

STANDSTILL = 60.0
"""Seconds between two looks after which this process, or the whole machine, stood still."""

MOST_NOTES = 20
"""How often people are told about one attempt, at most: by then they know what it is like."""


@dataclass(frozen=True, slots=True)
class TakenOver:
    """What is known about an attempt that another driver has started.

    It began with `tree`, and people were told what is in `found`.
    """

    tree: str | None = None
    found: tuple[FoundStuck, ...] = ()


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
        taken_over: TakenOver | None = None,
        tell: Callable[[FoundStuck], None] = lambda _: None,
    ) -> None:
        """`has_events` is the runner's; `tell` tells people, before the agent is ended.

        What another driver has decided stands: what it wanted to end, is ended.
        """
        told = () if taken_over is None else taken_over.found
        self.found: Stuck | None = None
        self.times = len(told)
        self.is_over = any(each.strategy is not StuckStrategy.NOTIFY for each in told)
        self._watchdog = watchdog
        self._now = now
        self._tell = tell
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
        driver that has taken it over counts them, too, but no more than half of the limit. An
        agent whose stream is quiet may be busy all the same, which only a later look shows, and
        the machine may have stood still.
        """
        with self._lock:
            at = self._now()
            if self.is_over:
                return None
            self._look(signs, quiet, at)
            stuck = self._watch.stuck(at, self._watchdog)
            strategy = response(self._watch, stuck, self._watchdog)
            if strategy is None or stuck is None:
                return None
            if strategy is StuckStrategy.NOTIFY and self.times >= MOST_NOTES:
                return None
            self.found = stuck
            self.times += 1
            note = self._watch.note(stuck, self._watchdog)
            self._watch = self._watch.told(note.loop)
        self._tell(note)
        self.is_over = strategy is not StuckStrategy.NOTIFY
        return strategy

    def _look(self, signs: Signs, quiet: float | None, at: float) -> None:
        passed = at - self._watch.seen_at
        if passed > STANDSTILL:
            counted = min(STANDSTILL, self._watch.limit(self._watchdog) / 2)
            self._watch = self._watch.without(passed - counted)
        self._watch = self._watch.see(signs, at, self._watchdog)
        known, self._taken_over = self._taken_over, None
        if known is not None:
            self._watch = _continued(self._watch, known, signs)
            if quiet is not None:
                half = self._watch.limit(self._watchdog) / 2
                self._watch = self._watch.since(at - min(quiet, half))


def _continued(watch: Watch, known: TakenOver, signs: Signs) -> Watch:
    """The watch over an attempt that is taken over, at its first look.

    What the agent did before is in its stream, but not between which of its actions its files
    changed: a row of equal actions counts only if they never did, and nobody was told. What people
    were told about its files as they are now, they know.
    """
    last = known.found[-1] if known.found else None
    if last is not None or signs.tree is None or signs.tree != known.tree:
        watch = watch.forgotten()
    is_same = last is not None and (last.stream, last.tree) == (signs.stream, signs.tree)
    loops = (each.loop for each in known.found if each.tree == signs.tree)
    told = tuple(loop for loop in loops if loop is not None)
    return replace(watch, notified=is_same, told_loops=told)
