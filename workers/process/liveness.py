"""Ends a worker that is cut off from everything, so that it is started again."""

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from time import monotonic

import structlog

from shared.domain.exits import ExitCode

log = structlog.get_logger()

_LOOK_EVERY = 1.0


@dataclass(slots=True)
class _Source:
    why: Callable[[], str]
    heard: float = field(default_factory=monotonic)
    ever: bool = False


class Liveness:
    """Ends the process if no source of jobs has given a sign of life for `limit` seconds.

    `parts` maps each source of jobs to a function that says why it is silent. `in_hand` returns
    True while the process holds jobs whose leases are still renewed; it is then doing its work and
    is not ended. `leave` is called once, with the exit code.
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
        """Record a sign of life of the source."""
        self._parts[name].heard, self._parts[name].ever = monotonic(), True

    def start(self) -> None:
        """Start watching; every source has the full limit from now on."""
        self._at_work = monotonic()
        for part in self._parts.values():
            part.heard = self._at_work
        self._thread.start()

    def close(self) -> None:
        """Stop watching."""
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
                log.error(
                    "worker_cut_off", limit=self._limit, exit_code=int(ExitCode.CUT_OFF), **told
                )
                self._leave(ExitCode.CUT_OFF)
                return


def _describe(part: _Source) -> str:
    """When the source was last heard, and why it is silent."""
    age = monotonic() - part.heard
    then = (datetime.now(UTC) - timedelta(seconds=age)).isoformat(timespec="seconds")
    heard = f"last heard {age:.0f} s ago ({then})" if part.ever else f"never heard in {age:.0f} s"
    return f"{heard}: {part.why()}"
