"""Who carries out jobs in this process: the threads of the queues, and some beside them."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import structlog

from shared.domain.errors import ReplanError
from workers.process.capacity import Capacity
from workers.process.lifecycle import ClaimedJob, Lifecycle

log = structlog.get_logger()


class Crew:
    """Carries out jobs within `capacity`: in the thread that asks, and in `threads` of its own."""

    def __init__(self, capacity: Capacity, lifecycle: Lifecycle, threads: int) -> None:
        self._capacity = capacity
        self._lifecycle = lifecycle
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="crew")
        self._pool.submit(int)  # one thread there is from now on, whatever the system refuses later

    def carry_out(
        self, job_ids: Sequence[int], pass_on: Callable[[Sequence[int]], None]
    ) -> int | None:
        """Do those of the jobs that are to be had, and return how many that were.

        One in this thread, which waits for a place if it must; of the others those that there are
        places for now, beside it and not waited for. `pass_on` is given the rest, for any worker
        to do. None, and nothing is begun, when this process takes no more jobs. Raises Transient
        while the database is away.
        """
        if not self._capacity.take():
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
        """Do a job, if it is to be had, in another thread; its place has been taken already."""
        self._submit(job_id, partial(self._lifecycle.carry_out, job_id))

    def close(self) -> None:
        """Begin nothing more; jobs in hand go on."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _take(self, job_ids: Sequence[int]) -> list[ClaimedJob]:
        """Claim jobs for which places were taken; the places of those not had are given back."""
        taken: list[ClaimedJob] = []
        try:
            taken = self._lifecycle.take(job_ids)
        finally:
            self._capacity.give_back(len(job_ids) - len(taken))
        return taken

    def _submit(self, job_id: int, work: Callable[[], object]) -> None:
        try:
            self._pool.submit(self._run_beside, job_id, work)
        except RuntimeError:  # no further thread: it is in the line of those that there are
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
            log.exception("job_broke", job=job_id)
