"""Leases kept alive by a timer, whatever the work is doing (S2.47), and lost ones noticed."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

import structlog

from shared.domain.errors import Transient
from shared.domain.jobs import Job
from shared.store import jobs
from shared.store.database import CANCELLED, Database

log = structlog.get_logger()


class Hold:
    """A job in hand; `lost` is set once it is cancelled or somebody else has it.

    `unwanted` are the keys of attempts that an operator wants ended, while the pass goes on.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self.lost = threading.Event()
        self.unwanted: set[str] = set()
        self.unwant(job.cancel_attempt)

    def unwant(self, key: str | None) -> None:
        """Have the attempt with that key ended; None for none."""
        if key is not None:
            self.unwanted.add(key)


class LeaseKeeper:
    """Renews the leases of everything this process has in hand every `heartbeat` seconds.

    `beat` is called at least once a second while the database answers.
    """

    def __init__(
        self,
        database: Database,
        *,
        lease: float,
        heartbeat: float,
        beat: Callable[[], None] = lambda: None,
    ) -> None:
        self._database = database
        self._lease = lease
        self._heartbeat = heartbeat
        self._beat = beat
        self._holds: dict[int, Hold] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="leases", daemon=True)
        self._thread.start()

    @contextmanager
    def hold(self, job: Job) -> Iterator[Hold]:
        """Keep the lease of a claimed job for as long as the block lasts."""
        held = Hold(job)
        with self._lock:
            self._holds[job.id] = held
        try:
            yield held
        finally:
            with self._lock:
                self._holds.pop(job.id, None)

    def close(self) -> None:
        """Stop renewing."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._listen()
            except Transient as error:
                log.warning("leases_wait", reason=error.reason)
                self._stop.wait(min(1.0, self._heartbeat))

    def _listen(self) -> None:
        with self._database.listen(CANCELLED) as listener:
            due = monotonic()
            while not self._stop.is_set():
                if monotonic() >= due:
                    self._renew()
                    due = monotonic() + self._heartbeat
                pause = max(0.0, min(due - monotonic(), 1.0))
                self._beat()
                for payload in self._database.notified(listener, pause):
                    self._heard(payload)

    def _renew(self) -> None:
        with self._lock:
            held = [(hold.job.id, hold.job.fence) for hold in self._holds.values()]
        with self._database.begin() as connection:
            kept = jobs.renew(connection, held, self._lease)
        for job_id, _ in held:
            if job_id not in kept:
                self._drop(job_id)
        for job_id, key in kept.items():
            self._unwant(job_id, key)

    def _heard(self, payload: str) -> None:
        """`7`: job 7 was withdrawn; `7 KEY`: the attempt with that key of it is to be ended."""
        job_id, _, key = payload.partition(" ")
        if key:
            self._unwant(int(job_id), key)
        else:
            self._drop(int(job_id))

    def _drop(self, job_id: int) -> None:
        hold = self._held(job_id)
        if hold is not None:
            hold.lost.set()

    def _unwant(self, job_id: int, key: str | None) -> None:
        hold = self._held(job_id)
        if hold is not None:
            hold.unwant(key)

    def _held(self, job_id: int) -> Hold | None:
        with self._lock:
            return self._holds.get(job_id)
