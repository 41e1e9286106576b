"""Polls for jobs, so that a dead broker or a lost message costs only time."""

import random
import threading
from collections.abc import Callable, Sequence
from time import monotonic

import structlog

from shared.domain.errors import Misconfigured, Transient
from shared.store import jobs
from shared.store.database import Database
from workers.process.capacity import Capacity

log = structlog.get_logger()

_SOON = 1.0
"""Seconds to the next look, at most, after one that found jobs."""

WHILE_DEAF = 2.0
"""Seconds to the next look, at most, while no messages arrive: then only looking finds jobs."""

_SLICE = 0.5
"""Seconds in which a pause notices that messages no longer arrive."""

_JITTER = 0.25
"""The random part of a pause, so that workers do not all look at the same time."""


class Poller:
    """Every `every` seconds, takes due jobs of the queues as far as `capacity` allows.

    It does not look while there is no free place. While `claims_fail` it takes one job at a time,
    to find out whether claims succeed again. `hand_on` takes a job whose place is already
    taken, starts it and returns at once; `sign` is called whenever the database has answered. While
    `deaf` returns True, it looks every two seconds at least.
    """

    def __init__(
        self,
        database: Database,
        queues: Sequence[str],
        capacity: Capacity,
        hand_on: Callable[[int], None],
        *,
        every: float,
        sign: Callable[[], None],
        claims_fail: Callable[[], bool] = lambda: False,
        deaf: Callable[[], bool] = lambda: False,
    ) -> None:
        self._database = database
        self._queues = queues
        self._capacity = capacity
        self._hand_on = hand_on
        self._every = every
        self._sign = sign
        self._deaf = deaf
        self._claims_fail = claims_fail
        self._stop = threading.Event()
        self._reason = "it has not looked yet"
        self._thread = threading.Thread(target=self._run, name="polling", daemon=True)

    @property
    def reason(self) -> str:
        """The result of the last look, in words."""
        return self._reason

    def start(self) -> None:
        """Start polling."""
        self._thread.start()

    def close(self) -> None:
        """Stop polling; jobs in hand continue."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        pause = random.uniform(0, self._every)  # noqa: S311 - chance, no secret
        while not self._rest(pause):
            found = self._look()
            pause = min(self._every, _SOON) if found and not self._claims_fail() else self._every
            pause *= random.uniform(1 - _JITTER, 1)  # noqa: S311 - chance, no secret

    def _rest(self, pause: float) -> bool:
        """Wait until the next look is due; returns True if it is time to stop."""
        begun = monotonic()
        while True:
            longest = min(pause, WHILE_DEAF) if self._deaf() else pause
            left = begun + longest - monotonic()
            if left <= 0:
                return self._stop.is_set()
            if self._stop.wait(min(left, _SLICE)):
                return True

    def _look(self) -> int:
        """Take as many jobs as there are free places; returns how many."""
        failing = self._claims_fail()
        places = self._capacity.take_free(1) if failing else self._capacity.take_free()
        if not places:
            self._reason = "all its places are taken"
            return 0
        found: list[int] = []
        try:
            with self._database.autocommit() as connection:
                found = jobs.claimable(connection, self._queues, places)
            self._reason = f"found {len(found)} jobs"
            self._sign()
        except (Transient, Misconfigured) as error:
            self._reason = error.reason
            log.warning("poll_failed", reason=error.reason)
        except Exception as error:  # if this thread ended, the process would stop polling
            self._reason = f"{type(error).__name__}: {error}"
            log.exception("poll_crashed")
        finally:
            self._capacity.give_back(places - len(found))
        for job_id in found:
            self._hand_on(job_id)
        return len(found)
