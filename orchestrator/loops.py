"""A loop: does its work when it is notified, and at the latest after the pause it asked for."""

import threading
from collections.abc import Callable
from time import monotonic

import structlog

from shared.domain.errors import Misconfigured, Transient
from shared.domain.next_step import Advice, command_line
from shared.store.database import Database

log = structlog.get_logger()

_APART = 0.02
"""Seconds between two turns, at least, so that a burst is handled in groups."""

_FIRST_WAIT = 0.1
_LONGEST_WAIT = 5.0


class Loop:
    """Calls `work` again and again until `stop` is set; `work` returns its longest pause (s).

    While the database or the broker is away or refuses us, the loop waits, a little longer each
    time, and goes on; it logs each reason once, and the end of it. `beat` is called whenever it has
    done its work.
    """

    def __init__(
        self,
        name: str,
        database: Database,
        channel: str | None,
        work: Callable[[], float],
        stop: threading.Event,
        *,
        beat: Callable[[], None] = lambda: None,
    ) -> None:
        self._name = name
        self._database = database
        self._channel = channel
        self._work = work
        self._stop = stop
        self._beat = beat
        self._trouble = ""
        self._wait = _FIRST_WAIT

    def run(self) -> None:
        """Work until stopped."""
        while not self._stop.is_set():
            try:
                self._attend()
            except (Transient, Misconfigured) as error:
                self._note_trouble(error.reason, error.next_step)
            except Exception:  # without its loop the process would live on and do nothing
                log.exception("loop_failed", loop=self._name)
            self._stop.wait(self._wait)
            self._wait = min(self._wait * 2, _LONGEST_WAIT)

    def _attend(self) -> None:
        """Work, then listen; returns only when stopped, or by an error."""
        if self._channel is None:
            while not self._stop.is_set():
                self._stop.wait(self._turn())
            return
        with self._database.listen(self._channel) as listener:
            while not self._stop.is_set():
                begun = monotonic()
                self._database.notifications(listener, min(self._turn(), 1.0))
                self._stop.wait(max(0.0, begun + _APART - monotonic()))

    def _turn(self) -> float:
        pause = self._work()
        self._beat()
        self._note_trouble("")
        self._wait = _FIRST_WAIT
        return pause

    def _note_trouble(self, reason: str, advice: Advice | None = None) -> None:
        if reason and reason != self._trouble:
            log.warning("loop_waits", loop=self._name, reason=reason, next=command_line(advice))
        elif self._trouble and not reason:
            log.info("loop_goes_on", loop=self._name)
        self._trouble = reason
