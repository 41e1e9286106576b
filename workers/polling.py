"""A worker looks for jobs itself, so that a dead broker, or a lost message, costs time only."""

import random
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import structlog

from shared.domain.errors import ReplanError, Transient
from shared.store import jobs
from shared.store.database import Database
from workers.capacity import Capacity

log = structlog.get_logger()

_SOON = 1.0
"""Seconds to the next look, at most, while there was something to be found."""

_JITTER = 0.25
"""The part of a pause that is left to chance, so that workers do not look all at once."""


class Poller:
    """Every `every` seconds, takes up due jobs of the queues as far as `capacity` goes.

    While everything is in hand it does not look. `carry_out` does a job and returns whether it was
    to be had; `sign` is called after every look that the database answered.
    """

    def __init__(
        self,
        database: Database,
        queues: Sequence[str],
        capacity: Capacity,
        carry_out: Callable[[int], bool],
        *,
        every: float,
        sign: Callable[[], None],
    ) -> None:
        self._database = database
        self._queues = queues
        self._capacity = capacity
        self._carry_out = carry_out
        self._every = every
        self._sign = sign
        self._stop = threading.Event()
        self._reason = "it has not looked yet"
        self._pool: ThreadPoolExecutor | None = None
        self._thread = threading.Thread(target=self._run, name="polling", daemon=True)

    @property
    def reason(self) -> str:
        """What came of the last look, in words."""
        return self._reason

    def start(self, threads: int) -> None:
        """Begin to look; what is found is carried out by at most `threads` threads."""
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="polled")
        self._thread.start()

    def close(self) -> None:
        """Look no more; jobs in hand go on."""
        self._stop.set()
        if self._pool is not None:
            self._thread.join()
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self) -> None:
        pause = random.uniform(0, self._every)  # noqa: S311 - chance, no secret
        while not self._stop.wait(pause):
            found = self._look()
            pause = min(self._every, _SOON) if found else self._every
            pause *= random.uniform(1 - _JITTER, 1)  # noqa: S311 - chance, no secret

    def _look(self) -> int:
        """Take up what fits; returns how many jobs that was."""
        places = self._capacity.take_free()
        if not places:
            self._reason = "everything it may do at once is in hand"
            return 0
        found: list[int] = []
        try:
            with self._database.autocommit() as connection:
                found = jobs.claimable(connection, self._queues, places)
            self._reason = f"found {len(found)} jobs"
            self._sign()
        except Transient as error:
            self._reason = error.reason
            log.warning("poll_failed", reason=error.reason)
        except Exception as error:  # a thread that ended would leave its process deaf
            self._reason = f"{type(error).__name__}: {error}"
            log.exception("poll_broke")
        finally:
            self._capacity.give_back(places - len(found))
        self._hand_on(found)
        return len(found)

    def _hand_on(self, job_ids: Sequence[int]) -> None:
        assert self._pool is not None  # noqa: S101 - nothing looks before `start`
        for job_id in job_ids:
            self._pool.submit(self._do, job_id)

    def _do(self, job_id: int) -> None:
        try:
            self._carry_out(job_id)
        except ReplanError as error:
            log.warning("job_put_back", job=job_id, reason=error.reason)
        except Exception:
            log.exception("job_broke", job=job_id)
        finally:
            self._capacity.give_back()
