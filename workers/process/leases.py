"""Renews leases by a timer, whatever the work is doing (S2.47), and notices lost ones."""

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

import structlog

from shared.domain.errors import Misconfigured, Transient
from shared.domain.jobs import Job, JobKind
from shared.domain.process_name import ProcessName
from shared.store import jobs, presence
from shared.store.database import CANCELLED, Database

log = structlog.get_logger()

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0
"""Seconds between two tries to connect again: the first follows at once, so that a worker that only
lost its connection is present again before anybody takes it for lost."""


class Hold:
    """A job in hand.

    `withdrawn` is set when the job is cancelled: its running command must be ended. `lost` is set
    when another worker has the job, `given_up` when this process wants to stop: in both cases the
    work stops where it is, and the next worker continues from there.
    `unwanted` holds the keys of attempts that an operator wants ended while the pass continues. No
    other worker can claim the job before `valid_until` (`time.monotonic`), unless the database
    misses this process before. The functions in
    `afterwards` are called in order once the result of the job is recorded, and never if it was
    not ours to record.
    """

    def __init__(self, job: Job, valid_until: float) -> None:
        self.job = job
        self.valid_until = valid_until
        self.withdrawn = threading.Event()
        self.lost = threading.Event()
        self.given_up = threading.Event()
        self.unwanted: set[str] = set()
        self.afterwards: list[Callable[[], None]] = []
        self.request_end(job.cancel_attempt)
        if job.kind is JobKind.CLEAN_UP:
            self.withdrawn.set()

    def is_over(self) -> bool:
        """Whether nobody waits for the result of this work any more."""
        return self.withdrawn.is_set() or self.lost.is_set() or self.given_up.is_set()

    def request_end(self, key: str | None) -> None:
        """Ask for the attempt with that key to be ended; None does nothing."""
        if key is not None:
            self.unwanted.add(key)


class LeaseKeeper:
    """Renews the leases of all jobs in hand every `heartbeat` seconds, and shows our presence.

    `beat` is called at least once a second while the database answers. Our presence has the `name`.
    """

    def __init__(
        self,
        database: Database,
        *,
        lease: float,
        heartbeat: float,
        beat: Callable[[], None] = lambda: None,
        name: ProcessName | None = None,
    ) -> None:
        self._database = database
        self._name = name
        self._lease = lease
        self._heartbeat = heartbeat
        self._beat = beat
        self._holds: dict[int, Hold] = {}
        self._renewed = monotonic()
        self._number = secrets.randbelow(presence.HIGHEST) + 1
        self._present = False
        self._has_connected = threading.Event()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="leases", daemon=True)
        self._thread.start()

    @property
    def presence(self) -> int | None:
        """The number of our presence lock; None if the database took none from us.

        It stays while we connect again: what we claim meanwhile is ours if we are back in time.
        """
        return self._number if self._present else None

    def await_presence(self, seconds: float) -> None:
        """Wait until we have shown our presence once, or could not, or that time is over."""
        self._has_connected.wait(seconds)

    @contextmanager
    def hold(self, job: Job, asked_at: float) -> Iterator[Hold]:
        """Keep the lease of a claimed job until the block ends.

        `asked_at` is the time at which the claim was sent (`time.monotonic`).
        """
        held = Hold(job, asked_at + self._lease)
        with self._lock:
            self._holds[job.id] = held
            self._renewed = monotonic()
        try:
            yield held
        finally:
            self._forget(held)

    def in_hand(self) -> tuple[Hold, ...]:
        """All jobs that are held now."""
        with self._lock:
            return tuple(self._holds.values())

    def keeps(self) -> bool:
        """Whether jobs are held and the database has answered within the length of a lease."""
        with self._lock:
            return bool(self._holds) and monotonic() - self._renewed < self._lease

    def let_go(self, hold: Hold) -> None:
        """Stop renewing the lease of a job although its work continues."""
        hold.lost.set()
        self._forget(hold)

    def close(self) -> None:
        """Stop renewing."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        pause = _FIRST_PAUSE
        while not self._stop.is_set():
            begun = monotonic()
            try:
                self._listen()
            except (Transient, Misconfigured) as error:
                log.warning("leases_waiting", reason=error.reason)
            except Exception:  # without this thread the process would lose all that it has in hand
                log.exception("leases_failed")
            pause = _FIRST_PAUSE if monotonic() - begun > _LONGEST_PAUSE else pause
            self._stop.wait(pause)
            pause = min(pause * 2, _LONGEST_PAUSE, self._heartbeat)

    def _listen(self) -> None:
        with self._database.listen(CANCELLED) as listener:
            self._present = presence.show(listener, self._number, self._name)
            self._has_connected.set()
            due = monotonic()
            while not self._stop.is_set():
                if monotonic() >= due:
                    self._renew()
                    due = monotonic() + self._heartbeat
                pause = max(0.0, min(due - monotonic(), 1.0))
                self._beat()
                for payload in self._database.notifications(listener, pause):
                    self._receive(payload)

    def _renew(self) -> None:
        with self._lock:
            held = list(self._holds.values())
        asked_at = monotonic()
        with self._database.begin() as connection:
            claims = [hold.job.claim for hold in held]
            kept = jobs.renew(connection, claims, self._lease, self.presence)
            gone = [hold for hold in held if hold.job.id not in kept]
            withdrawn = jobs.withdrawn(connection, [hold.job.claim for hold in gone])
        self._renewed = monotonic()
        for hold in held:
            if hold.job.id in kept:
                hold.valid_until = asked_at + self._lease
                hold.request_end(kept[hold.job.id])
            elif hold.job.id in withdrawn:
                hold.withdrawn.set()
            else:
                hold.lost.set()

    def _receive(self, payload: str) -> None:
        """`7 TOKEN`: job 7 was withdrawn; `7 TOKEN KEY`: end its attempt with that key.

        Nothing is done under another claim than that with the token.
        """
        job_id, token, key, *_ = [*payload.split(" ", 2), "", ""]
        hold = self._find(int(job_id))
        if hold is None or hold.job.token != token:
            return
        if key:
            hold.request_end(key)
        else:
            hold.withdrawn.set()

    def _forget(self, hold: Hold) -> None:
        """Drop a hold, unless this process has claimed the same job again meanwhile."""
        with self._lock:
            if self._holds.get(hold.job.id) is hold:
                del self._holds[hold.job.id]

    def _find(self, job_id: int) -> Hold | None:
        with self._lock:
            return self._holds.get(job_id)
