"""Watches the presence of workers, so that the jobs of one that is gone are soon free (S2.47)."""

from collections.abc import Callable
from time import monotonic

import structlog

from orchestrator import losses
from shared.domain.errors import Transient
from shared.store import presence
from shared.store.connection import Listener
from shared.store.database import Database

log = structlog.get_logger()

LOOK_EVERY = 0.5
"""Seconds between two looks."""

AWAY = 1.0
"""Seconds that a worker may be absent: enough to connect again."""

SETTLING = 5.0
"""Seconds from the begin of our own session until the first loss is reported.

Where the database was away, all sessions ended with ours; the workers need time to come back.
"""

COMPARE_EVERY = 5.0
"""Seconds between two looks at who holds a lease: it may have gone before anybody saw it."""


class PresenceWatch:
    """Finds workers that hold a lease and are not present any more, and reports their loss.

    It keeps a session of its own and judges only by what it has seen within that session. `now` is
    a clock that nobody sets (s).
    """

    def __init__(self, database: Database, *, now: Callable[[], float] = monotonic) -> None:
        self._database = database
        self._now = now
        self._session: Listener | None = None
        self._began = 0.0
        self._compared = float("-inf")
        self._known: set[int] = set()
        self._absent: dict[int, float] = {}

    def look(self) -> float:
        """Look once; returns the seconds until the next look. Raises Transient."""
        try:
            self._look(self._own_session())
        except Transient:
            self.close()
            raise
        return LOOK_EVERY

    def close(self) -> None:
        """End the session and forget what was seen in it."""
        if self._session is not None:
            self._session.close()
        self._session = None
        self._compared = float("-inf")
        self._known, self._absent = set(), {}

    def _own_session(self) -> Listener:
        if self._session is None:
            self._session = self._database.listen()
            self._began = self._now()
        return self._session

    def _look(self, session: Listener) -> None:
        now = self._now()
        if now - self._compared >= COMPARE_EVERY:
            with self._database.autocommit() as connection:
                self._known |= losses.held_by(connection)
            self._compared = now
        here = presence.seen(session)
        if here is None:
            self._known, self._absent = set(), {}
            return
        self._absent = {each: self._absent.get(each, now) for each in self._known - here}
        self._known = here | set(self._absent)
        if now - self._began >= SETTLING:
            self._report({each for each, since in self._absent.items() if now - since >= AWAY})

    def _report(self, lost: set[int]) -> None:
        if not lost:
            return
        with self._database.begin() as connection:
            jobs = losses.note_absent(connection, lost)
        if jobs:
            log.warning("workers_lost", workers=len(lost), jobs=jobs)
        self._known -= lost
        for each in lost:
            del self._absent[each]
