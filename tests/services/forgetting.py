"""A database that forgets its last commits, as one does after a failover to an older copy."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from tests.services.databases import execute, of_database, plain

_TERMINATE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"


@contextmanager
def forgetting(url: str) -> Iterator[None]:
    """After the block, the database is what it was before it, its sequences included.

    Its connections are closed before and after the block.
    """
    server, name = of_database(url, "postgres"), url.rpartition("/")[2]
    older = f"{name}_older"
    _copy(server, name, older)
    try:
        yield
        execute(server, "DROP DATABASE {} WITH (FORCE)", name)
        _copy(server, older, name)
    finally:
        execute(server, "DROP DATABASE IF EXISTS {} WITH (FORCE)", older)


def _copy(server: str, name: str, to: str) -> None:
    with psycopg.connect(plain(server), autocommit=True) as connection:
        connection.execute(_TERMINATE, (name,))
    execute(server, "CREATE DATABASE {} TEMPLATE {}", to, name)
