"""Hands over the jobs of a worker that must stop to other workers, within seconds."""

import threading
import time
from collections.abc import Callable
from time import monotonic

import structlog

from workers.process.capacity import AllPlaces
from workers.process.journal import Journal
from workers.process.leases import LeaseKeeper

log = structlog.get_logger()

PARTING = 2.0
"""Seconds that a job has to end by itself after `given_up` was set."""

_LOOK_EVERY = 0.05


class Handover:
    """Stops a worker: no new jobs; those in hand run on for `grace` seconds, then are given back.

    A job that does not end after `given_up` is set is given back all the same, and `leave` is
    called to end the process without waiting for it.
    """

    def __init__(
        self,
        capacity: AllPlaces,
        keeper: LeaseKeeper,
        journal: Journal,
        *,
        grace: float,
        leave: Callable[[], None],
    ) -> None:
        self._capacity = capacity
        self._keeper = keeper
        self._journal = journal
        self._grace = grace
        self._leave = leave
        self._begun = threading.Event()
        # The thread starts early, because a signal handler must not start threads.
        self._thread = threading.Thread(target=self._run, name="handover", daemon=True)

    def start(self) -> None:
        """Start the thread that waits for `begin`."""
        self._thread.start()

    def begin(self) -> None:
        """Begin the handover and return at once; safe in a signal handler, and safe to repeat."""
        self._begun.set()

    def close(self) -> None:
        """Begin the handover and return once no job is in hand."""
        self._begun.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        self._begun.wait()
        self._capacity.close()
        log.info("worker_stopping", in_hand=self._capacity.taken, grace=self._grace)
        if self._ended_within(self._grace):
            return
        if not self._ended_within(PARTING, given_up=True):
            self._give_back_the_rest()
            self._leave()

    def _ended_within(self, seconds: float, *, given_up: bool = False) -> bool:
        """Whether all jobs end within that time; `given_up` tells them to end."""
        until = monotonic() + seconds
        while self._capacity.taken:
            if given_up:
                for hold in self._keeper.in_hand():
                    hold.given_up.set()
            if monotonic() >= until:
                return False
            time.sleep(_LOOK_EVERY)
        return True

    def _give_back_the_rest(self) -> None:
        for hold in self._keeper.in_hand():
            log.warning("job_left_behind", job=hold.job.id, kind=hold.job.kind.value)
            self._keeper.let_go(hold)
            self._journal.give_back(hold.job)
