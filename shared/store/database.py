"""The connection to Postgres: one pool per process, translated errors, notifications."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import NoReturn, cast

import psycopg
from pydantic_core import from_json
from sqlalchemy import Connection, Engine, make_url, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from shared.domain.errors import Defect, Misconfigured, ReplanError, Transient
from shared.domain.next_step import NextStep
from shared.settings.server import DATABASE_TIMEOUT, ServerSettings
from shared.store.connection import (
    APPLICATION,
    BoundedConnection,
    Deadline,
    Listener,
    SilentServerError,
    listen,
    longest_pause,
    make_engine,
    server_limits,
)
from shared.store.sqlstate import (
    MEANINGS,
    NO_FREE_CONNECTION,
    READ_ONLY,
    SILENT,
    UNREACHABLE,
    Meaning,
    meaning,
)
from shared.store.storable_json import storable_json

DOORBELL = "replan_jobs"
REPORTS = "replan_reports"
CANCELLED = "replan_cancelled"

_ONE_MOMENT = text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")

_MAY_PAUSE = text("SET LOCAL idle_in_transaction_session_timeout = '1h'")
"""A reader holds no locks, and a person may look at its page for long."""

_AS_USUAL = nullcontext()


class InDoubt(Transient):
    """The answer to a commit was lost: nobody knows whether it took effect."""


class Database:
    """A pool of connections to one database.

    `url` is `postgresql://…` (psycopg 3). A statement may take `timeout` seconds, unless a
    transaction says otherwise. The server lists the sessions as `application`. Errors come out as
    Transient (it may come back), Misconfigured (it refuses us) or Defect.
    """

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 5,
        pooled: bool = True,
        timeout: float = DATABASE_TIMEOUT,
        application: str = APPLICATION,
    ) -> None:
        parsed = make_url(url)
        if parsed.get_backend_name() != "postgresql":
            raise Misconfigured(
                f"database_url must start with postgresql://, not {parsed.drivername}://",
                stage="config",
                next_step=NextStep.of("config show"),
            )
        self.url = parsed.set(drivername="postgresql+psycopg")
        self._timeout = timeout
        self._application = application
        self.engine: Engine = make_engine(
            self.url,
            timeout,
            application=application,
            pool_size=pool_size if pooled else None,
            json_serializer=storable_json,
            json_deserializer=from_json,
        )
        self._autocommitting = self.engine.execution_options(isolation_level="AUTOCOMMIT")

    @property
    def longest_pause(self) -> float:
        """Seconds that a transaction may pause for before its locks are released."""
        return longest_pause(self._timeout)

    @classmethod
    def of(
        cls,
        server: ServerSettings,
        *,
        pool_size: int = 5,
        pooled: bool = True,
        application: str = APPLICATION,
    ) -> "Database":
        """The database of an installation. Raises Misconfigured when none is set."""
        return cls(
            server.database_url,
            pool_size=pool_size,
            pooled=pooled,
            timeout=server.database_timeout,
            application=application,
        )

    @contextmanager
    def begin(self, deadline: Deadline | None = None) -> Iterator[Connection]:
        """One transaction: committed at the end, rolled back on an error.

        Each statement, and the commit, may take until the deadline; None is the database's own.
        Raises InDoubt, a Transient, when the connection is lost while it is committed.
        """
        written = False
        try:
            with (
                self.engine.connect() as connection,
                _AS_USUAL if deadline is None else _bounded(connection, deadline),
                connection.begin(),
            ):
                if deadline is not None:
                    for name, milliseconds in server_limits(deadline.seconds).items():
                        connection.exec_driver_sql(f"SET LOCAL {name} = {milliseconds}")
                yield connection
                written = True
        except SQLAlchemyError as error:
            if written and isinstance(error, DBAPIError) and error.connection_invalidated:
                raise _in_doubt(error) from error
            translate(error)

    @contextmanager
    def reading(self, deadline: Deadline | None = None) -> Iterator[Connection]:
        """A read-only transaction that sees everything as it was at its first statement.

        It may pause between two statements: a person may look at a page of it for long.
        """
        with self.begin(deadline) as connection:
            connection.execute(_ONE_MOMENT)
            connection.execute(_MAY_PAUSE)
            yield connection

    @contextmanager
    def autocommit(self) -> Iterator[Connection]:
        """Each statement is its own transaction; for reading, that is no weaker."""
        try:
            with self._autocommitting.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            translate(error)

    @contextmanager
    def at_once(self) -> Iterator[Connection]:
        """One statement that writes: it commits by itself, in a single round trip.

        Raises InDoubt, a Transient, when the connection is lost while it runs.
        """
        try:
            with self._autocommitting.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            if isinstance(error, DBAPIError) and error.connection_invalidated:
                raise _in_doubt(error) from error
            translate(error)

    def listen(self, *channels: str) -> Listener:
        """A separate connection that receives notifications; the caller closes it."""
        try:
            return listen(self.engine, self._timeout, *channels, application=self._application)
        except psycopg.Error as error:
            raise _ours(error) from error

    def notifications(self, listener: Listener, timeout: float) -> list[str]:
        """The payloads that arrive within `timeout` seconds, as soon as there is one.

        Raises Transient when the connection is gone. The idle connections of the pool are dropped
        then: what ended one of them has most likely ended all.
        """
        try:
            return listener.receive(timeout)
        except psycopg.Error as error:
            self.engine.dispose()
            raise _ours(error) from error

    def close(self) -> None:
        """Close every connection of the pool."""
        self.engine.dispose()


@contextmanager
def _bounded(connection: Connection, deadline: Deadline) -> Iterator[None]:
    """Let every answer on this connection take until the deadline, while the block lasts."""
    driver = cast("BoundedConnection", connection.connection.dbapi_connection)
    usual, driver.deadline = driver.deadline, deadline.seconds
    try:
        yield
    finally:
        driver.deadline = usual


def notify(connection: Connection, channel: str, payload: str = "") -> None:
    """Wake the listeners of a channel when this transaction commits."""
    connection.exec_driver_sql("SELECT pg_notify(%s, %s)", (channel, payload))


def require_writable(database: Database) -> None:
    """Check that the server accepts writes and has room; nothing is kept.

    Raises Transient for a read-only server, else the server's own error.
    """
    with database.begin() as connection:
        asked = text(
            "SELECT current_setting('transaction_read_only'),"
            " has_database_privilege(current_database(), 'TEMP')"
        )
        read_only, may_try = connection.execute(asked).one()
        if read_only == "on":
            standby = MEANINGS[READ_ONLY]
            raise Transient(standby.words, stage="database", next_step=standby.next_step)
        if not may_try:
            return
        connection.execute(text("CREATE TEMP TABLE room (filling text) ON COMMIT DROP"))
        connection.execute(
            text("INSERT INTO room SELECT repeat('x', 1000) FROM generate_series(1, 100)")
        )


def translate(error: SQLAlchemyError) -> NoReturn:
    """Translate errors of the driver into ours."""
    raise _ours(error) from error


def _ours(error: SQLAlchemyError | psycopg.Error) -> ReplanError:
    if isinstance(error, PoolTimeoutError):
        return _error(NO_FREE_CONNECTION, _sentence(error))
    cause = error.orig if isinstance(error, DBAPIError) else error
    found = _meaning(cause)
    if found is None:
        return Defect(_sentence(error), stage="database")
    return _error(found, _sentence(cause))


def _meaning(cause: object) -> Meaning | None:
    if isinstance(cause, SilentServerError | psycopg.errors.ConnectionTimeout):
        return SILENT
    code = cause.sqlstate if isinstance(cause, psycopg.Error) else None
    found = meaning(code, str(cause))
    if found is None and not code and isinstance(cause, psycopg.OperationalError):
        return UNREACHABLE
    return found


def _error(found: Meaning, sentence: str) -> ReplanError:
    return found.family(f"{found.words}: {sentence}", stage="database", next_step=found.next_step)


def _in_doubt(error: DBAPIError) -> InDoubt:
    ours = _ours(error)
    return InDoubt(ours.reason, stage=ours.stage, next_step=ours.next_step)


def _sentence(error: object) -> str:
    lines = str(error).strip().splitlines() or ["the database gave no reason"]
    return lines[0]
