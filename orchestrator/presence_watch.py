"""Watches the presence of workers, so that the jobs of one that is gone are soon free (S2.47)."""

import secrets
from collections.abc import Callable
from time import monotonic

import structlog

from orchestrator import losses
from shared.domain.errors import Transient
from shared.domain.process_name import ProcessName
from shared.store import presence
from shared.store.connection import Listener
from shared.store.database import Database

log = structlog.get_logger()

LOOK_EVERY = 0.25
"""Seconds between two looks."""

AWAY = 0.75
"""Seconds that a worker may be absent: enough to connect again."""

SETTLING = 5.0
"""Seconds that the database must have been there until we report whom we have never seen.

Where it was away, all sessions ended with ours; the workers need time to come back.
"""

COMPARE_EVERY = 5.0
"""Seconds between two looks at who holds a lease: it may have gone before anybody saw it."""


class PresenceWatch:
    """Finds workers that hold a lease and are not present any more, and reports their loss.

    It keeps a session of its own. Whom it has seen in that session and then misses is lost: the
    server was there all the while. The session has the `name` of the coordinator, so that people
    see it. `now` is a clock that nobody sets (s), `oldest` the age of the
    oldest session of the server (s).
    """

    def __init__(
        self,
        database: Database,
        *,
        now: Callable[[], float] = monotonic,
        oldest: Callable[[Listener], float] = presence.oldest_session,
        name: ProcessName | None = None,
    ) -> None:
        self._database = database
        self._name = name
        self._number = secrets.randbelow(presence.HIGHEST) + 1
        self._now = now
        self._oldest = oldest
        self._session: Listener | None = None
        self._began = 0.0
        self._compared = float("-inf")
        self._known: set[int] = set()
        self._seen: set[int] = set()
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
        self._known, self._seen, self._absent = set(), set(), {}

    def _own_session(self) -> Listener:
        if self._session is None:
            self._session = self._database.listen()
            self._began = self._now()
            if self._name is not None:
                presence.show_coordinator(self._session, self._number, self._name)
        return self._session

    def _look(self, session: Listener) -> None:
        now = self._now()
        if now - self._compared >= COMPARE_EVERY:
            with self._database.autocommit() as connection:
                self._known |= losses.held_by(connection)
            self._compared = now
        here = presence.seen(session)
        if here is None:
            self.close()
            return
        self._absent = {each: self._absent.get(each, now) for each in self._known - here}
        self._known = here | set(self._absent)
        self._seen = (self._seen | here) & self._known
        lost = {each for each, since in self._absent.items() if now - since >= AWAY}
        if not (lost <= self._seen or self._is_settled(session, now)):
            lost &= self._seen
        self._report(lost)

    def _is_settled(self, session: Listener, now: float) -> bool:
        """Whether no restart of the server can have ended the sessions that we miss lately."""
        return now - self._began >= SETTLING or self._oldest(session) >= SETTLING

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
