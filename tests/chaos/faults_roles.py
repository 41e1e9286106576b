"""Servers that turn into a replica, as in a failover, and turn back after a while."""

from collections.abc import Callable
from typing import Final

import psycopg
import redis

from orchestrator.embedded import port as ports
from tests.chaos.faults import Act, Fault, lasting
from tests.chaos.stage import Stage
from tests.services.databases import plain

Order = Callable[[redis.Redis], object]

SOON: Final = 5.0
LONG: Final = 20.0
"""Seconds that a server stays in the other role."""


def _replica(seconds: float, *, stale: bool) -> Act:
    """A replica of nobody; if it may not serve what is `stale`, it refuses to read as well."""
    serve = "yes" if stale else "no"

    def begin(client: redis.Redis) -> None:
        client.config_set("replica-serve-stale-data", serve)
        client.replicaof(ports.LOOPBACK, str(ports.any_free()))

    def end(client: redis.Redis) -> None:
        client.replicaof("NO", "ONE")
        client.config_set("replica-serve-stale-data", "yes")

    return lasting("broker", seconds, lambda s: _told(s, begin), lambda s: _told(s, end))


def _told(stage: Stage, order: Order) -> bool:
    try:
        with redis.Redis.from_url(stage.broker_url, socket_timeout=5.0) as client:
            order(client)
    except (redis.ConnectionError, redis.TimeoutError):
        return False
    return True


def _read_only(seconds: float) -> Act:
    return lasting(
        "database", seconds, lambda stage: _set(stage, "on"), lambda stage: _set(stage, "off")
    )


def _set(stage: Stage, read_only: str) -> bool:
    dsn, writable = plain(stage.services.admin_url), "-c default_transaction_read_only=off"
    try:
        with psycopg.connect(dsn, autocommit=True, options=writable) as connection:
            order = f"ALTER SYSTEM SET default_transaction_read_only = {read_only}"
            connection.execute(order.encode())
            connection.execute("SELECT pg_reload_conf()")
    except psycopg.OperationalError:
        return False
    return True


FAULTS: Final = tuple(
    fault
    for seconds in (SOON, LONG)
    for fault in (
        Fault(f"broker a replica {seconds:.0f} s", _replica(seconds, stale=True)),
        Fault(f"broker without master {seconds:.0f} s", _replica(seconds, stale=False)),
        Fault(f"database read-only {seconds:.0f} s", _read_only(seconds), for_all=True),
    )
)
