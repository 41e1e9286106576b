"""The relay: rings for jobs that are due, and again while nobody has claimed them."""

from collections import defaultdict
from collections.abc import Iterable

from orchestrator import losses, waiting_jobs
from orchestrator.ports import Bell
from orchestrator.waiting_jobs import WaitingJob
from shared.store.database import Database


class Relay:
    """From outbox to broker, at least once. `ring_again` in seconds.

    A job is rung for again only while the messages of its queue cannot ring for all that wait, so
    that a long queue is not filled with copies while an emptied broker is noticed within one round.
    What somebody has claimed and left behind is rung for alone: it may be what its worker died of.
    A worker whose lease ran out is reported as lost before another one can hear of the job.
    """

    def __init__(self, database: Database, bell: Bell, *, ring_again: float) -> None:
        self._database = database
        self._bell = bell
        self._ring_again = ring_again

    def ring_due(self) -> float:
        """Ring for the jobs that are due. Returns the seconds until the next look, at most."""
        with self._database.autocommit() as connection:
            due = waiting_jobs.waiting(connection, self._ring_again)
            unclaimed = (
                waiting_jobs.unclaimed_counts(connection) if any(job.rung for job in due) else {}
            )
            pause = waiting_jobs.seconds_to_next(connection)
        if any(job.expired for job in due):
            with self._database.begin() as connection:
                losses.note_expired(connection)
        rung = [*self._ring(job for job in due if not job.rung)]
        rung += self._ring_lost((job for job in due if job.rung), unclaimed)
        if rung:
            with self._database.at_once() as connection:
                waiting_jobs.rung(connection, rung)
        return self._ring_again if pause is None else max(0.0, min(pause, self._ring_again))

    def _ring(self, due: Iterable[WaitingJob]) -> list[int]:
        by_queue: dict[str, list[int]] = defaultdict(list)
        alone: list[WaitingJob] = []
        for job in due:
            if job.left_behind:
                alone.append(job)
            else:
                by_queue[job.queue].append(job.id)
        for queue, ids in by_queue.items():
            self._bell.ring(queue, ids)
        for job in alone:
            self._bell.ring(job.queue, [job.id])
        return [*(job_id for ids in by_queue.values() for job_id in ids), *(j.id for j in alone)]

    def _ring_lost(self, due: Iterable[WaitingJob], unclaimed: dict[str, int]) -> list[int]:
        listed = list(due)
        short = {
            queue
            for queue in {job.queue for job in listed}
            if self._bell.ringing(queue) < unclaimed.get(queue, 0)
        }
        return self._ring(job for job in listed if job.queue in short)
