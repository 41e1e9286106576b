"""The presence of worker processes: each holds an advisory lock as long as it is connected.

Postgres frees the lock when the session ends. The kernel closes the sockets of a killed process, so
that is at once. A process that is frozen keeps its session, and so its lock. Numbers of workers are
the second half of a two-part key; the first half is `SPACE`.
"""

from typing import cast

import psycopg
import structlog

from shared.domain.errors import Transient
from shared.store.connection import Listener

log = structlog.get_logger()

SPACE = 0x7265706C
"""The first half of the key of each lock."""

HIGHEST = 2**31 - 1
"""The highest number of a worker."""

_SETTINGS = """
    SELECT set_config(name, wanted, false) FROM pg_settings JOIN (VALUES
        ('tcp_keepalives_idle', '5'), ('tcp_keepalives_interval', '2'),
        ('tcp_keepalives_count', '4'), ('tcp_user_timeout', '15000'),
        ('idle_session_timeout', '0')
    ) AS ours(name, wanted) USING (name)
"""
"""The server ends the session of a machine that is gone after 15 s, and never one that is idle.

Those that the server does not know are left out."""

_SEEN = """
    SELECT pg_backend_pid(), ARRAY(
        SELECT DISTINCT objid::bigint FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 2 AND classid::bigint = %s AND granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    )
"""

_OLDEST = """
    SELECT extract(epoch FROM clock_timestamp() - min(backend_start))::float8
    FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend'
"""


def show(session: Listener, number: int) -> bool:
    """Take the lock `number` for as long as this session lasts; several sessions may hold it.

    False, with nothing taken, if the session is not our own: a pooler between us and the server
    would keep the lock, or lose it, whatever becomes of our connection. Also False if the server
    refuses it. Raises Transient when the connection is lost.
    """
    try:
        if not is_direct(session):
            log.warning("presence_not_shown", reason="a pooler stands before the database")
            return False
        session.execute(_SETTINGS.encode())
        session.execute("SELECT pg_advisory_lock_shared(%s::int, %s::int)", (SPACE, number))
    except psycopg.Error as error:
        reason = str(error).partition("\n")[0]
        if session.closed:
            raise Transient(reason, stage="database") from error
        log.warning("presence_not_shown", reason=reason)
        return False
    return True


def is_direct(session: Listener) -> bool:
    """Whether the server process that we were told of is the one that answers."""
    (pid,) = session.execute("SELECT pg_backend_pid()").fetchone() or (None,)
    return bool(pid == session.info.backend_pid)


def seen(session: Listener) -> set[int] | None:
    """The numbers of the workers that are present.

    None if the session is not our own: whoever looks through a pooler does not notice that the
    database was away, and would take every worker for lost. Raises Transient.
    """
    pid, numbers = _ask(session, _SEEN, SPACE)
    return set(cast("list[int]", numbers)) if pid == session.info.backend_pid else None


def oldest_session(session: Listener) -> float:
    """How old (s) the oldest session of a client is: a server that restarts ends all of them.

    Raises Transient.
    """
    (age,) = _ask(session, _OLDEST)
    return cast("float", age)


def _ask(session: Listener, query: str, *values: object) -> tuple[object, ...]:
    try:
        found = session.execute(query.encode(), values, prepare=False).fetchone()
    except psycopg.Error as error:
        raise Transient(str(error).partition("\n")[0], stage="database") from error
    return found or ()
