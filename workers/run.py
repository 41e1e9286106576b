"""Runs a worker: Celery consumes the queues and runs many jobs at once in threads."""

import ctypes
import signal
import threading
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import structlog
from celery.exceptions import CPendingDeprecationWarning
from celery.platforms import SecurityWarning
from celery.signals import worker_shutting_down

from shared.domain.exits import ExitCode
from shared.logs import configure_logs
from shared.queue.dropped import DROPPED
from shared.settings import Settings
from shared.startup import await_servers
from shared.store.database import Database
from workers.process.consumer import SteadyConsumer
from workers.wiring import Worker, make_worker, queues_of

log = structlog.get_logger()

_ARENA_MAX = -8
"""The parameter of glibc's `mallopt` (malloc.h)."""


def run_worker(settings: Settings, roles: Sequence[str], *, threads: int | None = None) -> ExitCode:
    """Consume the queues of the roles until SIGTERM or SIGINT; returns the exit code.

    `threads` replaces the numbers of jobs at the same time that the settings name.

    After the signal the worker takes no new job. The jobs in hand run on for `shutdown_grace`
    seconds and are then given back, so that another worker can continue them at once. CRASHED if
    it ended without a signal. Raises Rejected for an unknown role, and what `await_servers` raises.
    """
    queues_of(roles)
    _keep_few_arenas()
    _await_servers(settings)
    worker = make_worker(settings, roles, threads=threads)
    configure_logs(settings.server.log_level, mask=worker.secrecy.text)
    worker_shutting_down.connect(lambda **_: worker.stop(), weak=False)
    # It warns about running as root. Only job ids come from the broker, never anything pickled.
    warnings.simplefilter("ignore", SecurityWarning)
    # At every reconnection it announces a change to late acknowledgements, which we do not use.
    warnings.simplefilter("ignore", CPendingDeprecationWarning)
    log.info("worker_started", name=worker.name, threads=worker.threads)
    worker.start()
    try:
        _make_celery_worker(worker, settings).start()
    finally:
        worker.close()
        log.info(
            "worker_stopped",
            name=worker.name,
            exit_code=int(worker.exit_code),
            messages_dropped=DROPPED.count,
        )
    return worker.exit_code


def _make_celery_worker(worker: Worker, settings: Settings) -> Any:
    """Celery's part: it takes messages from the queues and passes their jobs to the crews."""
    celery_worker: Any = worker.app.Worker

    class CeleryWorker(celery_worker):  # type: ignore[misc]
        """Ends when its terminal does. By default, Celery starts itself again on SIGHUP."""

        def install_platform_tweaks(self, started: Any) -> None:
            on_hang_up = signal.getsignal(signal.SIGHUP)
            super().install_platform_tweaks(started)
            signal.signal(signal.SIGHUP, on_hang_up)

    return CeleryWorker(
        pool="threads",
        concurrency=worker.threads,
        queues=[queue.value for queue in worker.queues],
        hostname=worker.name,
        task_events=True,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=False,
        loglevel=settings.server.log_level.upper(),
        quiet=True,
        consumer_cls=partial(SteadyConsumer, broker=worker.broker, events=worker.events),
    )


def _keep_few_arenas() -> None:
    """Let the threads share two memory arenas.

    Each connection has a thread. With one arena for each of many threads, memory is never reused.
    C libraries other than glibc do not have this setting.
    """
    try:
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 2)
    except (OSError, AttributeError, TypeError):
        log.debug("arenas_not_limited")


def _await_servers(settings: Settings) -> None:
    database = Database.of(settings.server, pooled=False)
    try:
        await_servers(settings.server, database, threading.Event())
    finally:
        database.close()
