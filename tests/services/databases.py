"""A real Postgres and a real Valkey, started once; a migrated database of its own for each test."""

import importlib
import importlib.util
import itertools
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest
import redis
from psycopg import sql

from orchestrator.embedded.services import EmbeddedServices
from shared.domain.errors import Misconfigured
from shared.domain.next_step import command_line
from tests.services import reset
from tests.services.availability import UnavailableError, give_up

TEMPLATE = "migrated"
_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def embedded_services() -> Iterator[EmbeddedServices]:
    """The servers of this run of the tests, in a scratch folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="replan-tests-") as folder:
        services = EmbeddedServices(Path(folder), durable=False)
        try:
            services.__enter__()
        except Misconfigured as error:
            give_up(UnavailableError(f"{error.reason}; {command_line(error.next_step)}"))
        try:
            yield services
        finally:
            services.__exit__(None, None, None)


@pytest.fixture(scope="session")
def postgres_url(embedded_services: EmbeddedServices) -> str:
    """An empty database of the server that all tests share, as its superuser."""
    return embedded_services.admin_url


@pytest.fixture(scope="session")
def migrated_template(postgres_url: str) -> str:
    """The name of a database with the product's schema and no rows, to be copied."""
    execute(postgres_url, "CREATE DATABASE {}", TEMPLATE)
    migrate(of_database(postgres_url, TEMPLATE))
    return TEMPLATE


@pytest.fixture(scope="session")
def databases(postgres_url: str, migrated_template: str) -> "Databases":
    """The databases with the product's schema, as whoever used them last left them."""
    with psycopg.connect(plain(of_database(postgres_url, migrated_template))) as connection:
        return Databases(postgres_url, migrated_template, reset.pristine(connection))


@pytest.fixture
def database_url(databases: "Databases") -> Iterator[str]:
    """A database with the product's schema and no rows that belongs to this test alone."""
    name = databases.take()
    yield of_database(databases.url, name)
    databases.give_back(name)


@dataclass(frozen=True, slots=True)
class Databases:
    """Databases with the product's schema and no rows, as `new` as the template.

    Each has a name of its own for each test: whoever still asks for that of an earlier one finds
    nothing.
    """

    url: str
    template: str
    new: reset.Pristine
    idle: list[str] = field(default_factory=list)

    def take(self) -> str:
        """The name of a database that nobody uses."""
        name = f"test_{next(_NUMBERS)}"
        if self.idle:
            before = self.idle.pop()
            try:
                execute(self.url, "ALTER DATABASE {} RENAME TO {}", before, name)
            except psycopg.Error:
                execute(self.url, "DROP DATABASE IF EXISTS {} WITH (FORCE)", before)
            else:
                return name
        execute(self.url, "CREATE DATABASE {} TEMPLATE {}", name, self.template)
        return name

    def give_back(self, name: str) -> None:
        """Keep it for another test if it can be made as good as new, else drop it."""
        if reset.reset(plain(of_database(self.url, name)), self.new):
            self.idle.append(name)
        else:
            execute(self.url, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)


@pytest.fixture
def empty_database_url(postgres_url: str) -> Iterator[str]:
    """A database without any table that belongs to this test alone."""
    name = f"test_{next(_NUMBERS)}"
    execute(postgres_url, "CREATE DATABASE {}", name)
    yield of_database(postgres_url, name)
    execute(postgres_url, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)


@pytest.fixture(scope="session")
def valkey_url(embedded_services: EmbeddedServices) -> str:
    """The Valkey that all tests share, as whoever used it last left it."""
    return embedded_services.broker_url


@pytest.fixture
def broker_url(valkey_url: str) -> str:
    """The Valkey that all tests share, emptied."""
    with redis.Redis.from_url(valkey_url) as client:
        client.flushall()
    return valkey_url


def migrate(url: str) -> None:
    """Give a database the product's schema."""
    if importlib.util.find_spec("shared.store.migrate") is None:
        return
    importlib.import_module("shared.store.migrate").upgrade(url)


def of_database(url: str, name: str) -> str:
    """The same server's other database."""
    return f"{url.rpartition('/')[0]}/{name}"


def plain(url: str) -> str:
    """The URL as psycopg itself reads it, without SQLAlchemy's driver name."""
    return url.replace("postgresql+psycopg://", "postgresql://", 1)


def execute(url: str, statement: str, *names: str) -> None:
    """Run a statement outside any transaction; `{}` stands for quoted names."""
    query = sql.SQL(statement).format(*(sql.Identifier(name) for name in names))
    with psycopg.connect(plain(url), autocommit=True) as connection:
        connection.execute(query)
