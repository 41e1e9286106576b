"""A worker that is cut off from everything says so and ends, to be started anew."""

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from time import monotonic

import structlog

log = structlog.get_logger()

CUT_OFF = os.EX_TEMPFAIL
"""The exit code (75): nothing is wrong with what was asked for; start it again."""

_LOOK_EVERY = 1.0


@dataclass(slots=True)
class _Source:
    why: Callable[[], str]
    heard: float = field(default_factory=monotonic)
    ever: bool = False


class Liveness:
    """Ends the process once no part has given a sign for `limit` seconds.

    `parts` are the ways in which jobs come, each with what says why nothing came that way. While
    `in_hand` answers True, jobs are in hand whose leases are still renewed; then the process lives
    on, for it does what it is there for. `leave` is called with the exit code, and once.
    """

    def __init__(
        self,
        parts: Mapping[str, Callable[[], str]],
        *,
        limit: float,
        in_hand: Callable[[], bool],
        leave: Callable[[int], None] = os._exit,
    ) -> None:
        self._parts = {name: _Source(why) for name, why in parts.items()}
        self._limit = limit
        self._in_hand = in_hand
        self._leave = leave
        self._at_work = monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="liveness", daemon=True)

    def sign(self, name: str) -> None:
        """The part is alive."""
        self._parts[name].heard, self._parts[name].ever = monotonic(), True

    def start(self) -> None:
        """Begin to watch; every part has the whole limit from now on."""
        self._at_work = monotonic()
        for part in self._parts.values():
            part.heard = self._at_work
        self._thread.start()

    def close(self) -> None:
        """Watch no more."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(min(_LOOK_EVERY, self._limit / 4)):
            if self._in_hand():
                self._at_work = monotonic()
            last = max(self._at_work, *(part.heard for part in self._parts.values()))
            if monotonic() - last > self._limit:
                told = {name: _describe(part) for name, part in self._parts.items()}
                log.error("worker_cut_off", limit=self._limit, exit_code=CUT_OFF, **told)
                self._leave(CUT_OFF)
                return


def _describe(part: _Source) -> str:
    """When the part was last heard, and why it says nothing."""
    age = monotonic() - part.heard
    then = (datetime.now(UTC) - timedelta(seconds=age)).isoformat(timespec="seconds")
    heard = f"last heard {age:.0f} s ago ({then})" if part.ever else f"never heard in {age:.0f} s"
    return f"{heard}: {part.why()}"
