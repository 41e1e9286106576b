"""Faults of the database and of the connections to it."""

import os
import random
import signal
import threading
import time
from typing import Final

from tests.chaos.faults import Fault, Injected
from tests.chaos.stage import Stage

COMMITS_WITHIN: Final = 3.0
"""Seconds within which somebody commits: every process does, for its leases or its bells."""

_TERMINATE: Final = """
    SELECT count(pg_terminate_backend(pid)) AS ended FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def _restarted(stage: Stage, _chance: random.Random) -> Injected | None:
    pid = stage.pid_of("postgres")
    if pid is None:
        return None
    os.kill(pid, signal.SIGQUIT)  # an immediate shutdown: no checkpoint, recovery at the start
    return Injected()


def _terminated(stage: Stage, _chance: random.Random) -> Injected | None:
    found = stage.rows.soon(_TERMINATE)
    return Injected() if found and found[0].ended else None


def _answer_lost(stage: Stage, _chance: random.Random) -> Injected | None:
    link = stage.database_link
    before, deadline = link.answers_dropped, time.monotonic() + COMMITS_WITHIN
    link.drop_next_answer()
    while link.answers_dropped == before:
        if time.monotonic() > deadline:
            link.drop_next_answer(None)
            return None
        threading.Event().wait(0.01)
    return Injected()


FAULTS: Final = (
    Fault("database restarted at once", _restarted),
    Fault("database connections ended", _terminated),
    Fault("answer to a commit lost", _answer_lost),
)
