"""A database that goes on to another test is as good as new, or it is dropped."""

from contextlib import closing

import psycopg
import pytest
from psycopg import sql

from orchestrator.acts.submission import Submission, submit
from shared.domain.config import Policy
from shared.store.database import Database
from tests.services import reset
from tests.services.databases import Databases, plain

CHANGES = (
    "CREATE TABLE more (id int)",
    "DROP TABLE approvals CASCADE",
    "ALTER TABLE tasks ADD COLUMN more int",
    "ALTER TABLE tasks DISABLE TRIGGER ALL",
    "CREATE INDEX ON tasks (prompt)",
    "GRANT SELECT ON tasks TO PUBLIC",
    "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
    "CREATE SEQUENCE more",
    "CREATE SCHEMA more",
    "UPDATE alembic_version SET version_num = 'x'",
    "DELETE FROM alembic_version",
    "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET work_mem = ''1MB''', current_database()); "
    "END $$",
    "SELECT lo_create(0)",
)


def test_whatever_changes_more_than_rows_is_seen(databases: Databases, database_url: str) -> None:
    with psycopg.connect(plain(database_url)) as connection:
        assert reset.schema(connection) == databases.new.schema
        for change in CHANGES:
            connection.execute(change.encode())
            assert reset.schema(connection) != databases.new.schema, change
            connection.rollback()
        assert reset.schema(connection) == databases.new.schema


def submitted(url: str) -> int:
    """The number of a new task."""
    with closing(Database(url)) as database:
        return submit(database, Submission("p", ("localhost",), Policy()))


def test_rows_go_numbers_begin_anew_and_nobody_stays_connected(
    databases: Databases, database_url: str
) -> None:
    first = submitted(database_url)
    with psycopg.connect(plain(database_url)) as left:
        left.execute("LOCK TABLE tasks")
        assert reset.reset(plain(database_url), databases.new)
        with pytest.raises(psycopg.OperationalError):
            left.execute("SELECT 1")
    with psycopg.connect(plain(database_url)) as connection:
        assert reset.pristine(connection) == databases.new
        for table in ("tasks", "inbox", "audit"):
            rows = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))
            assert connection.execute(rows).fetchone() == (0,)
            assert connection.execute("SELECT pg_relation_size(%s)", (table,)).fetchone() == (0,)
    assert submitted(database_url) == first == 1


def test_a_database_that_was_filled_is_dropped(databases: Databases, database_url: str) -> None:
    with psycopg.connect(plain(database_url), autocommit=True) as connection:
        submitted(database_url)
        connection.execute(
            "UPDATE tasks SET prompt = (SELECT string_agg(md5(n::text), '')"
            " FROM generate_series(1, 200000) n)"
        )
    assert not reset.reset(plain(database_url), databases.new)
