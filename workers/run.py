"""Running a worker: Celery consumes the queues, many jobs side by side in threads."""

import warnings
from collections.abc import Sequence

import structlog
from celery.platforms import SecurityWarning

from shared.settings import Settings
from workers.wiring import make_worker

log = structlog.get_logger()


def run_worker(settings: Settings, roles: Sequence[str], *, threads: int) -> None:
    """Consume the queues of the roles until SIGTERM or SIGINT.

    On the first signal no new job is taken and those in hand are finished; on the second the
    process ends, and other workers take the jobs over when the leases have run out.
    """
    worker = make_worker(settings, roles)
    # of running as root: only ids of jobs are ever taken from the broker, never anything pickled
    warnings.simplefilter("ignore", SecurityWarning)
    log.info("worker_started", name=worker.name, threads=threads)
    try:
        worker.app.Worker(
            pool="threads",
            concurrency=threads,
            queues=[queue.value for queue in worker.queues],
            hostname=worker.name,
            task_events=True,
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=False,
            loglevel=settings.server.log_level.upper(),
            quiet=True,
        ).start()
    finally:
        worker.close()
        log.info("worker_stopped", name=worker.name)
