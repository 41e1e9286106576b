"""Runs the jobs of this process, in the threads of the queues and in a pool of its own."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import structlog

from shared.domain.errors import ReplanError
from workers.process.capacity import Capacity
from workers.process.lifecycle import ClaimedJob, Lifecycle

log = structlog.get_logger()


class Crew:
    """Carries out jobs within `capacity`: in the caller's thread and in `threads` of its own.

    While no place is free, the caller waits for one, unless `waits` is false: then the jobs stay
    where they are, to be rung for again.
    """

    def __init__(
        self, capacity: Capacity, lifecycle: Lifecycle, threads: int, *, waits: bool = True
    ) -> None:
        self._capacity = capacity
        self._lifecycle = lifecycle
        self._waits = waits
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="crew")
        self._pool.submit(int)  # start one thread now: later the system may refuse to start any

    def carry_out(
        self, job_ids: Sequence[int], pass_on: Callable[[Sequence[int]], None]
    ) -> int | None:
        """Claim the jobs that are free and carry them out; return how many were claimed.

        The first runs in this thread, once there is a place. The others run in other threads as far
        as there are free places; this call does not wait for them. `pass_on` gets the rest, for any
        worker to take. If this process takes no more jobs, or none now and this crew does not wait,
        nothing starts and the result is None. Raises Transient while the database is unavailable.
        """
        if not (self._capacity.take() if self._waits else self._capacity.take_free(1)):
            return None
        places = 1 + self._capacity.take_free(len(job_ids) - 1)
        taken = self._take(job_ids[:places])
        if job_ids[places:]:
            pass_on(job_ids[places:])
        for beside in taken[1:]:
            self._submit(beside.job.id, partial(self._lifecycle.do, beside))
        if taken:
            self._run_in_place(partial(self._lifecycle.do, taken[0]))
        return len(taken)

    def hand_on(self, job_id: int) -> None:
        """Claim a job and carry it out in another thread; its place must already be taken."""
        self._submit(job_id, partial(self._lifecycle.carry_out, job_id))

    def close(self) -> None:
        """Start no more jobs; those in hand continue."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _take(self, job_ids: Sequence[int]) -> list[ClaimedJob]:
        """Claim jobs for which places were taken; give back the places of jobs not claimed."""
        taken: list[ClaimedJob] = []
        try:
            taken = self._lifecycle.take(job_ids)
        finally:
            self._capacity.give_back(len(job_ids) - len(taken))
        return taken

    def _submit(self, job_id: int, work: Callable[[], object]) -> None:
        try:
            self._pool.submit(self._run_beside, job_id, work)
        except RuntimeError:  # no new thread could start; the job waits for an existing one
            log.exception("no_thread_for_job", job=job_id)

    def _run_in_place(self, work: Callable[[], object]) -> None:
        try:
            work()
        finally:
            self._capacity.give_back()

    def _run_beside(self, job_id: int, work: Callable[[], object]) -> None:
        try:
            self._run_in_place(work)
        except ReplanError as error:
            log.warning("job_put_back", job=job_id, reason=error.reason)
        except Exception:
            log.exception("job_crashed", job=job_id)
