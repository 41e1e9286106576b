"""Handles `revoke` from Celery or Flower: it cancels the runs of the message's jobs."""

import queue
import threading
from collections.abc import Iterable

import structlog

from shared.domain.errors import Misconfigured, ReplanError, Transient
from shared.domain.facts import CancelRequested
from shared.queue.app import jobs_of
from shared.store import inbox, jobs
from shared.store.database import Database

log = structlog.get_logger()

_MOST = 1000
"""How many revoked jobs may wait; further ones are dropped and must be revoked again."""

_RETRY_PAUSE = 1.0


class Revoker:
    """For each revoked message, posts what `task cancel` posts; in a thread of its own.

    Only an open job can be cancelled: a job that is unknown or has ended, and a name that is not a
    message, are ignored. Every worker receives a revoke; only the first post has an effect.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: queue.Queue[int] = queue.Queue(_MOST)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="revoking", daemon=True)

    def start(self) -> None:
        """Start posting."""
        self._thread.start()

    def revoke(self, messages: Iterable[object]) -> None:
        """Accept these messages and return at once."""
        for message in messages:
            job_ids = jobs_of(message) if isinstance(message, str) else ()
            if not job_ids:
                log.info("revoke_ignored", message=str(message)[:100])
            for job_id in job_ids:
                try:
                    self._waiting.put_nowait(job_id)
                except queue.Full:
                    log.warning("revoke_dropped", job=job_id)

    def close(self) -> None:
        """Stop posting."""
        self._stop.set()

    def _run(self) -> None:
        while True:
            job_id = self._waiting.get()
            while not self._stop.is_set():
                try:
                    self._post(job_id)
                except (Transient, Misconfigured) as error:
                    log.warning("revoke_waiting", job=job_id, reason=error.reason)
                    self._stop.wait(_RETRY_PAUSE)
                except ReplanError:
                    log.exception("revoke_failed", job=job_id)
                    break
                else:
                    break

    def _post(self, job_id: int) -> None:
        with self._database.begin() as connection:
            about = jobs.whose(connection, job_id)
            if about is not None:
                inbox.send(connection, [(*about, CancelRequested())])
        log.info("revoked", job=job_id, cancelled=about is not None)
