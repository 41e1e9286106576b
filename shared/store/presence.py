"""The presence of worker processes: each holds an advisory lock as long as it is connected.

Postgres frees the lock when the session ends. The kernel closes the sockets of a killed process, so
that is at once. A process that is frozen keeps its session, and so its lock.
"""

from typing import cast

import psycopg
import structlog

from shared.domain.errors import Transient
from shared.domain.process_name import ProcessName
from shared.store.connection import Listener

log = structlog.get_logger()

TAG = 0x7265
"""The highest 16 bits of the key of each lock; the others are the number of the worker."""

COORDINATING = 0x7263
"""The same bits of the locks of coordinators."""

HIGHEST = 2**48 - 1
"""The highest number of a process. They are drawn at random, and no two are ever the same."""

_SETTINGS = """
    SELECT set_config(name, wanted, false) FROM pg_settings JOIN (VALUES
        ('tcp_keepalives_idle', '5'), ('tcp_keepalives_interval', '2'),
        ('tcp_keepalives_count', '4'), ('tcp_user_timeout', '15000'),
        ('idle_session_timeout', '0')
    ) AS ours(name, wanted) USING (name)
"""
"""The server ends the session of a machine that is gone after 15 s, and never one that is idle.

Those that the server does not know are left out."""

_NUMBER = f"((classid::bigint << 32) | objid::bigint) & {HIGHEST}"

_SHOWN = f"""
    (SELECT {_NUMBER} AS number, pid FROM pg_locks
     WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND classid::bigint >> 16 = {{tag}}
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS shown
"""  # noqa: S608 - nothing but constants

SHOWN = _SHOWN.format(tag=TAG)
"""A table for queries: the number of each worker that is present, and its server process."""

COORDINATORS = _SHOWN.format(tag=COORDINATING)
"""The same of coordinators."""

_SEEN = f"SELECT pg_backend_pid(), ARRAY(SELECT DISTINCT number FROM {SHOWN})"  # noqa: S608

# A server that has not noticed the loss of our last session would show us present when we are not.
_END_FORMER = f"""
    SELECT pg_terminate_backend(pid) FROM {SHOWN} WHERE number = %s AND pid <> pg_backend_pid()
"""  # noqa: S608 - nothing but constants

_OLDEST = """
    SELECT extract(epoch FROM clock_timestamp() - min(backend_start))::float8
    FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend'
"""


def show(session: Listener, number: int, name: ProcessName | None = None) -> bool:
    """Take the lock `number` for as long as this session lasts, and end our former one.

    The session gets the `name` of the process, if there is one.

    False, with nothing taken, if the session is not our own: a pooler between us and the server
    would keep the lock, or lose it, whatever becomes of our connection. Also False if the server
    refuses it. Raises Transient when the connection is lost.
    """
    try:
        if not is_direct(session):
            log.warning("presence_not_shown", reason="a pooler stands before the database")
            return False
        session.execute(_SETTINGS.encode())
        _take(session, TAG, number, name)
        session.execute(_END_FORMER.encode(), (number,))
    except psycopg.Error as error:
        reason = str(error).partition("\n")[0]
        if session.closed:
            raise Transient(reason, stage="database") from error
        log.warning("presence_not_shown", reason=reason)
        return False
    return True


def show_coordinator(session: Listener, number: int, name: ProcessName) -> None:
    """Let people see a coordinator for as long as this session lasts. Nothing depends on it.

    Nobody sees one behind a pooler, or where the server refuses the lock. Raises Transient when the
    connection is lost.
    """
    try:
        if is_direct(session):
            _take(session, COORDINATING, number, name)
    except psycopg.Error as error:
        reason = str(error).partition("\n")[0]
        if session.closed:
            raise Transient(reason, stage="database") from error
        log.warning("presence_not_shown", reason=reason)


def _take(session: Listener, tag: int, number: int, name: ProcessName | None) -> None:
    if name is not None:
        session.execute("SELECT set_config('application_name', %s, false)", (name.session,))
    session.execute("SELECT pg_advisory_lock_shared(%s)", (tag << 48 | number,))


def is_direct(session: Listener) -> bool:
    """Whether the server process that we were told of is the one that answers."""
    (pid,) = session.execute("SELECT pg_backend_pid()").fetchone() or (None,)
    return bool(pid == session.info.backend_pid)


def seen(session: Listener) -> set[int] | None:
    """The numbers of the workers that are present.

    None if the session is not our own: whoever looks through a pooler does not notice that the
    database was away, and would take every worker for lost. Raises Transient.
    """
    pid, numbers = _ask(session, _SEEN)
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
