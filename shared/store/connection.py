"""How every connection to Postgres is made, so that none waits for a server that fell silent.

A connection may be half-open: a firewall has forgotten it, its server has been frozen or replaced,
and nobody is told. Two layers notice. libpq's options let the kernel give up what is not
acknowledged. A deadline of our own for each statement covers what the kernel cannot see: a proxy
that acknowledges and loses, a server that is stopped. The server gets limits below it, so that it
ends a slow statement itself, keeps the connection, and releases the locks of a client that is gone.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.pq import Conninfo, TransactionStatus
from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.pool import NullPool

Row = tuple[Any, ...]
R = TypeVar("R")

MOST_TO_CONNECT: Final = 10.0
"""Seconds that a connection may take to be made, at most; less if statements may take less."""

PING_AFTER: Final = 5.0
"""Seconds of silence after which a listener asks whether its server is still there, at most."""

APPLICATION: Final = "replan"
"""What the server lists our sessions as, unless the address or the environment says otherwise."""

_INTERVAL: Final = 0.1
"""Seconds between two looks at the clock while psycopg waits."""

_ALWAYS: Final = {"client_encoding": "UTF8"}
"""Text is UTF-8 whatever the database's own encoding says, SQL_ASCII included."""

_PAUSE: Final = "idle_in_transaction_session_timeout"

_SHARES: Final = {"lock_timeout": 0.7, "statement_timeout": 0.8, _PAUSE: 1.5}
"""The server's own limits, as shares of the deadline: it is the first to end a slow statement.

A transaction may pause for longer: a coordinator folds many reports between two statements.
"""

_SERVER_KEEPALIVES: Final = {
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}
"""In seconds: a server notices within a minute that a client has gone without a word."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """How many seconds a statement may take; None: as long as it takes."""

    seconds: float | None


UNLIMITED: Final = Deadline(None)
"""For migrations: only the kernel notices then that the server is gone."""

PATIENT: Final = Deadline(120.0)
"""For what reads much while somebody waits for it, as a check of the whole history does."""


class SilentServerError(psycopg.OperationalError):
    """The server did not answer in time; nobody knows what became of the statement."""


class BoundedConnection(psycopg.Connection[Row]):
    """A connection on which a statement, and a commit, may take `deadline` seconds.

    After that it closes itself and raises SilentServerError. With None it waits as long as it
    takes.
    """

    deadline: float | None = None

    def wait(self, gen: PQGen[R], interval: float = _INTERVAL, timeout: float | None = None) -> R:
        """Wait for the server, at most until the deadline; psycopg calls it for every answer."""
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, self.deadline)
        except psycopg.OperationalError as error:
            if self.closed or self.pgconn.transaction_status != TransactionStatus.ACTIVE:
                raise
            self.close()
            raise SilentServerError(f"no answer for {self.deadline:g} s") from error


class Listener(BoundedConnection):
    """A connection that receives notifications, and asks when it has heard nothing for long."""

    heard = 0.0

    def receive(self, timeout: float) -> list[str]:
        """The payloads that arrive within `timeout` seconds, as soon as there is one.

        Raises psycopg.Error when the connection is gone, also when nobody has said so.
        """
        first = [n.payload for n in self.notifies(timeout=timeout, stop_after=1)]
        if first:
            self.heard = monotonic()
            return first + [n.payload for n in self.notifies(timeout=0)]
        if monotonic() - self.heard >= min(PING_AFTER, self.deadline or PING_AFTER):
            self.execute("SELECT 1")
            self.heard = monotonic()
        return []


C = TypeVar("C", bound=BoundedConnection)


def make_engine(
    url: URL, timeout: float, *, application: str = APPLICATION, **options: Any
) -> Engine:
    """An engine whose connections are bounded by `timeout` seconds; `pool_size` None: no pool.

    The server lists them as `application`, unless the address or the environment says otherwise.
    """
    if options.get("pool_size") is None:
        options = {**options, "poolclass": NullPool}
        del options["pool_size"]
    else:
        options["pool_timeout"] = timeout
    engine = create_engine(url, **options)

    @event.listens_for(engine, "do_connect")
    def connect(
        _dialect: Dialect, _record: object, _args: object, parameters: dict[str, Any]
    ) -> BoundedConnection:
        return _open(BoundedConnection, parameters, timeout, application)

    return engine


def listen(
    engine: Engine, timeout: float, *channels: str, application: str = APPLICATION
) -> Listener:
    """A connection of its own that receives notifications; the caller closes it.

    Raises psycopg.Error.
    """
    _, parameters = engine.dialect.create_connect_args(engine.url)
    listener = _open(Listener, {**parameters, "autocommit": True}, timeout, application)
    # A ping answers at once or never: to wait for it as long as for a statement helps nobody.
    listener.deadline = min(PING_AFTER, timeout)
    for channel in channels:
        listener.execute(f'LISTEN "{channel}"'.encode())
    listener.heard = monotonic()
    return listener


def connect_to(timeout: float, **parameters: Any) -> BoundedConnection:
    """One connection for whoever needs no engine, under autocommit. Raises psycopg.Error."""
    return _open(BoundedConnection, {**parameters, "autocommit": True}, timeout)


def _open(
    kind: type[C], parameters: Mapping[str, Any], timeout: float, application: str = APPLICATION
) -> C:
    given = {**_from_surroundings(), **parameters}
    wanted = {"fallback_application_name": application, **_defaults(timeout)}
    defaults = {k: v for k, v in wanted.items() if given.get(k) is None}
    autocommit = parameters.get("autocommit", False)
    made = kind.connect(**{**parameters, **defaults, **_ALWAYS, "autocommit": True})
    made.deadline = timeout
    try:
        _limit_server(made, str(given.get("options") or ""), timeout)
        if not autocommit:
            made.autocommit = False
    except BaseException:
        made.close()
        raise
    return made


def _defaults(timeout: float) -> dict[str, str]:
    """The options of libpq, where nobody has said otherwise."""
    return {
        "connect_timeout": str(max(1, math.ceil(min(MOST_TO_CONNECT, timeout)))),
        "keepalives": "1",
        "keepalives_idle": "10",
        "keepalives_interval": "5",
        "keepalives_count": "3",
        "tcp_user_timeout": str(round(timeout * 1000)),
    }


def _from_surroundings() -> dict[str, Any]:
    """What the environment says, as libpq reads it: `PGCONNECT_TIMEOUT`, a service."""
    return {
        option.keyword.decode(): option.val.decode()
        for option in Conninfo.get_defaults()
        if option.val is not None and option.val != option.compiled
    }


def _limit_server(connection: BoundedConnection, options: str, timeout: float) -> None:
    """Set the server's limits for this session; those named in `options` stay."""
    wanted = server_limits(timeout) | _SERVER_KEEPALIVES
    free = [(name, value) for name, value in wanted.items() if name not in options]
    if free:
        calls = ", ".join(["set_config(%s, %s, false)"] * len(free))
        words = [word for pair in free for word in pair]
        connection.execute(f"SELECT {calls}".encode(), words)


def longest_pause(timeout: float) -> float:
    """Seconds that a transaction may be idle where a statement may take `timeout` seconds."""
    return timeout * _SHARES[_PAUSE]


def server_limits(timeout: float | None) -> dict[str, str]:
    """The server's limits for statements that may take so long, in milliseconds; 0 means none."""
    return {name: str(round((timeout or 0.0) * share * 1000)) for name, share in _SHARES.items()}
