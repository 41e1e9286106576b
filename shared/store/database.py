"""The connection to Postgres: one pool per process, translated errors, notifications."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import psycopg
from pydantic_core import from_json, to_json
from sqlalchemy import Connection, Engine, create_engine, make_url, text
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from shared.domain.errors import Defect, Misconfigured, Transient
from shared.domain.next_step import NextStep

_REFUSALS = ("authentication failed", "does not exist", "no pg_hba.conf entry")
"""A failed connection has no SQLSTATE: only the server's message says why."""

DOORBELL = "replan_jobs"
REPORTS = "replan_reports"
CANCELLED = "replan_cancelled"

_UTF8 = {"client_encoding": "UTF8"}
"""Text is UTF-8 whatever the database's own encoding says, SQL_ASCII included."""

_ONE_MOMENT = text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")

_REFUSED = ("28", "3D", "42501")  # authentication, no such database, no right: SQLSTATE

_READ_ONLY = "25006"


class InDoubt(Transient):
    """The answer to a commit was lost: nobody knows whether it took effect."""


class Database:
    """A pool of connections to one database.

    `url` is `postgresql://…` (psycopg 3). Errors come out as Transient (it may come back),
    Misconfigured (it refuses us) or Defect.
    """

    def __init__(self, url: str, *, pool_size: int = 5, pooled: bool = True) -> None:
        parsed = make_url(url)
        if parsed.get_backend_name() != "postgresql":
            raise Misconfigured(
                f"database_url must start with postgresql://, not {parsed.drivername}://",
                stage="config",
                next_step=NextStep.of("config show"),
            )
        self.url = parsed.set(drivername="postgresql+psycopg")
        pool: dict[str, Any] = {"pool_size": pool_size, "max_overflow": 20}
        self.engine: Engine = create_engine(
            self.url,
            connect_args=_UTF8,
            json_serializer=lambda value: to_json(value).decode(),
            json_deserializer=from_json,
            **(pool if pooled else {"poolclass": NullPool}),
        )
        self._autocommitting = self.engine.execution_options(isolation_level="AUTOCOMMIT")

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """One transaction: committed at the end, rolled back on an error.

        Raises InDoubt, a Transient, when the connection is lost while it is committed.
        """
        written = False
        try:
            with self.engine.begin() as connection:
                yield connection
                written = True
        except SQLAlchemyError as error:
            if written and isinstance(error, DBAPIError) and error.connection_invalidated:
                raise InDoubt(_sentence(error.orig), stage="database") from error
            translate(error)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A read-only transaction that sees everything as it was at its first statement."""
        with self.begin() as connection:
            connection.execute(_ONE_MOMENT)
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
                raise InDoubt(_sentence(error.orig), stage="database") from error
            translate(error)

    def listen(self, *channels: str) -> psycopg.Connection[tuple[object, ...]]:
        """A separate connection that receives notifications; the caller closes it."""
        dsn = self.url.set(drivername="postgresql").render_as_string(hide_password=False)
        try:
            connection = psycopg.connect(dsn, autocommit=True)
            for channel in channels:
                connection.execute(f'LISTEN "{channel}"'.encode())
        except psycopg.Error as error:
            raise Transient(_sentence(error), stage="database") from error
        return connection

    def notifications(
        self, listener: psycopg.Connection[tuple[object, ...]], timeout: float
    ) -> list[str]:
        """The payloads that arrive within `timeout` seconds, as soon as there is one.

        Raises Transient when the connection is gone.
        """
        try:
            first = [n.payload for n in listener.notifies(timeout=timeout, stop_after=1)]
            return first + [n.payload for n in listener.notifies(timeout=0)] if first else []
        except psycopg.Error as error:
            raise Transient(_sentence(error), stage="database") from error

    def close(self) -> None:
        """Close every connection of the pool."""
        self.engine.dispose()


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
            raise _read_only()
        if not may_try:
            return
        connection.execute(text("CREATE TEMP TABLE room (filling text) ON COMMIT DROP"))
        connection.execute(
            text("INSERT INTO room SELECT repeat('x', 1000) FROM generate_series(1, 100)")
        )


def translate(error: SQLAlchemyError) -> NoReturn:
    """Translate errors of the driver into ours."""
    if isinstance(error, DBAPIError):
        state = getattr(error.orig, "sqlstate", None) or ""
        told = str(error.orig)
        if state.startswith(_REFUSED) or (not state and any(w in told for w in _REFUSALS)):
            raise Misconfigured(
                _sentence(error.orig), stage="database", next_step=NextStep.of("config show")
            ) from error
        if state == _READ_ONLY:
            raise _read_only() from error
        if state == "42P01":
            raise Misconfigured(
                "the database has no tables of replan yet",
                stage="database",
                next_step=NextStep.of("db migrate"),
            ) from error
        if isinstance(error, OperationalError) or error.connection_invalidated:
            raise Transient(
                _sentence(error.orig),
                stage="database",
                next_step=NextStep.of("config show", "database_url"),
            ) from error
    raise Defect(_sentence(error), stage="database") from error


def _read_only() -> Transient:
    return Transient(
        "the database is read-only: it is a standby, or was set to read-only",
        stage="database",
        next_step=NextStep.of("config show", "database_url"),
    )


def _sentence(error: object) -> str:
    lines = str(error).strip().splitlines() or ["the database gave no reason"]
    return lines[0]
