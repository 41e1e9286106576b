"""Who carries out jobs in this process: the threads of the queues, and some beside them."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import structlog

from shared.domain.errors import ReplanError
from workers.capacity import Capacity
from workers.lifecycle import Lifecycle, Taken

log = structlog.get_logger()


class Crew:
    """Carries out jobs within `capacity`: in the thread that asks, and in `threads` of its own."""

    def __init__(self, capacity: Capacity, lifecycle: Lifecycle, threads: int) -> None:
        self._capacity = capacity
        self._lifecycle = lifecycle
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="crew")

    def carry_out(self, job_ids: Sequence[int]) -> int | None:
        """Do those of the jobs that are to be had, and return how many that were.

        One after another in this thread, and as many beside it as there are places for; it is not
        waited for these. None, and the rest is left alone, when this process takes no more jobs.
        Raises Transient while the database is away.
        """
        waiting = deque(job_ids)
        had = 0
        while waiting:
            if not self._capacity.take():
                return None
            places = 1 + self._capacity.take_free(len(waiting) - 1)
            taken = self._take([waiting.popleft() for _ in range(places)])
            had += len(taken)
            for beside in taken[1:]:
                self._pool.submit(self._beside, partial(self._lifecycle.do, beside))
            if taken:
                self._in_place(partial(self._lifecycle.do, taken[0]))
        return had

    def hand_on(self, job_id: int) -> None:
        """Do a job, if it is to be had, in another thread; its place has been taken already."""
        self._pool.submit(self._beside, partial(self._lifecycle.carry_out, job_id))

    def close(self) -> None:
        """Begin nothing more; jobs in hand go on."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _take(self, job_ids: Sequence[int]) -> list[Taken]:
        """Claim jobs for which places were taken; the places of those not had are given back."""
        taken: list[Taken] = []
        try:
            taken = self._lifecycle.take(job_ids)
        finally:
            self._capacity.give_back(len(job_ids) - len(taken))
        return taken

    def _in_place(self, work: Callable[[], object]) -> None:
        try:
            work()
        finally:
            self._capacity.give_back()

    def _beside(self, work: Callable[[], object]) -> None:
        try:
            self._in_place(work)
        except ReplanError as error:
            log.warning("job_put_back", reason=error.reason)
        except Exception:
            log.exception("job_broke")
