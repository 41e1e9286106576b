"""A process may start before its servers: it waits for the database, and says so."""

import threading
import time
from collections.abc import Callable

import structlog

from shared.domain.errors import ReplanError, Transient
from shared.queue.app import knock
from shared.settings import ServerSettings
from shared.store.database import Database
from shared.store.migrate import Outdated, require_current

log = structlog.get_logger()

TELL_EVERY = 5.0
"""Seconds between two messages about what it waits for."""

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0


def await_servers(server: ServerSettings, database: Database, stop: threading.Event) -> bool:
    """Wait until the database has our version; False once `stop` is set.

    After `startup_patience` seconds it raises the last error of the database: Transient if it
    cannot be reached, Misconfigured if nobody has migrated it. It raises Misconfigured at once if
    one of the servers refuses us, or if the database was migrated by a newer program. A broker that
    is away or cannot serve is not waited for: jobs are found in the database meanwhile.
    """
    until = time.monotonic() + server.startup_patience
    if not _await("database", lambda: require_current(database), until, stop):
        return False
    try:
        knock(server.broker_url)
    except Transient as error:
        log.warning("starts_without", server="broker", reason=error.reason)
    return not stop.is_set()


def _await(name: str, look: Callable[[], None], until: float, stop: threading.Event) -> bool:
    pause, told = _FIRST_PAUSE, float("-inf")
    while not stop.is_set():
        try:
            look()
        except (Transient, Outdated) as error:
            now = time.monotonic()
            if now >= until:
                raise
            if now - told >= TELL_EVERY:
                _tell(name, error, until - now)
                told = now
            stop.wait(min(pause, until - now))
            pause = min(pause * 2, _LONGEST_PAUSE)
        else:
            return True
    return False


def _tell(name: str, error: ReplanError, left: float) -> None:
    log.warning("waiting_for", server=name, reason=error.reason, patience_left=round(left))
