"""Connections to the database and the broker are proved and secret, when they are asked to be."""

from time import monotonic

import pytest
from sqlalchemy import make_url, text

from shared.domain.errors import Misconfigured, ReplanError, Transient
from shared.queue.app import knock
from shared.settings import load_settings
from shared.store.database import Database
from tests.integration.tls.conftest import ELSEWHERE, Serve
from tests.services.certificates import Authority
from tests.services.proxy import Proxy

HERE = "127.0.0.1"


def database_at(url: str) -> Database:
    """As a process opens it that has the address from its environment."""
    return Database(load_settings({"REPLAN_DATABASE_URL": url}).server.database_url, pooled=False)


def knock_at(url: str) -> None:
    """As a process does that has the address from its environment."""
    knock(load_settings({"REPLAN_BROKER_URL": url}).server.broker_url)


def test_postgres_is_reached_over_tls_that_was_verified(
    postgres: Serve, authority: Authority
) -> None:
    """Both by statements and by the connection that listens."""
    url = f"{postgres(HERE)}?sslmode=verify-full&sslrootcert={authority.file}"
    database = database_at(url)
    with database.begin() as connection:
        encrypted = text("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
        assert connection.execute(encrypted).scalar_one() is True
    with database.listen("channel") as listener:
        assert listener.pgconn.ssl_in_use


def test_a_connection_over_tls_that_was_swallowed_is_given_up_in_time(
    postgres: Serve, authority: Authority
) -> None:
    address = make_url(postgres(HERE))
    assert address.port is not None
    with Proxy(address.port) as link:
        over = address.set(port=link.port).update_query_pairs(
            [("sslmode", "verify-full"), ("sslrootcert", str(authority.file))]
        )
        database = Database(over.render_as_string(hide_password=False), timeout=1.0)
        reach(database, listening=False)
        link.swallow(new=False)
        began = monotonic()
        with pytest.raises(Transient, match="does not answer"):
            reach(database, listening=False)
        assert monotonic() - began < 15
        reach(database, listening=False)
        database.close()


@pytest.mark.parametrize("listening", [False, True])
def test_a_postgres_that_is_not_who_it_says_is_refused(
    postgres: Serve, authority: Authority, listening: bool
) -> None:
    url = f"{postgres(ELSEWHERE)}?sslmode=verify-full&sslrootcert={authority.file}"
    database = database_at(url)
    with pytest.raises((Transient, Misconfigured), match="certificate"):
        reach(database, listening)


def reach(database: Database, listening: bool) -> None:
    if listening:
        database.listen("channel").close()
        return
    with database.begin() as connection:
        connection.execute(text("SELECT 1"))


def test_redis_is_reached_over_tls_that_was_verified(
    tls_redis: Serve, authority: Authority
) -> None:
    knock_at(f"{tls_redis(HERE)}?ssl_cert_reqs=required&ssl_ca_certs={authority.file}")


def test_a_redis_that_is_not_who_it_says_is_refused(tls_redis: Serve, authority: Authority) -> None:
    url = f"{tls_redis(ELSEWHERE)}?ssl_cert_reqs=required&ssl_ca_certs={authority.file}"
    with pytest.raises(ReplanError, match="ertificate"):
        knock_at(url)


@pytest.mark.parametrize("query", ["", "?ssl_cert_reqs=required"])
def test_a_redis_of_an_authority_that_nobody_named_is_refused(tls_redis: Serve, query: str) -> None:
    """Also when the address says nothing about certificates."""
    with pytest.raises(ReplanError, match="certificate"):
        knock_at(tls_redis(HERE) + query)
