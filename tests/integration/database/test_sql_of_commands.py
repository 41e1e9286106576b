"""The SQL that the guard allows, run by a real PostgreSQL: it changes nothing and reads no file."""

import random
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from shared.guard.programs.sql import SqlDialect
from shared.guard.programs.sql_looks import sql_only_looks
from tests.unit.guard.sql_cases import HONEST

MARK = "read from a file"
SOUP = [
    *("select ", "1", "'", '"', "/*", "*/", "--", "\n", ";", " drop table canary ", "E'", "\\"),
    *(" as ", ", ", "$$", "$a$", "pg_read_file('{file}')", '"pg_read_file"', "('{file}')", "/**/"),
    *(" from canary", " delete from canary", " union ", 'U&"', "\\0061", "(", ")", " -- '", "''"),
    *("explain ", "analyze ", "with x as (", " returning *", "values ", "x", ".", "::text", "\\'"),
]  # fmt: skip


@pytest.fixture
def server(database_url: str) -> Iterator[psycopg.Connection]:
    """A connection to a database that holds a table of one row."""
    with psycopg.connect(database_url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("create table canary (a int)")
        connection.execute("insert into canary values (1)")
        yield connection
        connection.execute("drop table if exists canary")


def alive(server: psycopg.Connection) -> bool:
    """Whether the table is as it was."""
    found = server.execute("select to_regclass('canary') is not null").fetchone()
    if found is None or not found[0]:
        return False
    return server.execute("select count(*) from canary").fetchone() == (1,)


def shown(server: psycopg.Connection, text: str) -> str:
    """All that a text puts out, an error among it."""
    cursor = server.cursor()
    rows: list[object] = []
    try:
        cursor.execute(text.encode())
        while True:
            if cursor.description:
                rows += cursor.fetchall()
            if not cursor.nextset():
                return repr(rows)
    except psycopg.Error as error:
        return str(error)


def test_the_tricks_are_real_and_the_guard_knows_them(
    server: psycopg.Connection, tmp_path: Path
) -> None:
    """Nested comments, comments before parentheses and quotes in names: PostgreSQL runs them."""
    file = tmp_path / "mark"
    file.write_text(MARK)
    tmp_path.chmod(0o755)
    reads = f"select 1 as \"'\", pg_read_file/**/('{file}'), 2 as \"'\""
    drops = "select 1 /* /* */ ' */ ; drop table canary; -- '"
    assert not sql_only_looks(reads, SqlDialect.POSTGRES)
    assert not sql_only_looks(drops, SqlDialect.POSTGRES)
    assert MARK in shown(server, reads)
    shown(server, drops)
    assert not alive(server)


def test_what_the_guard_allows_changes_nothing_and_reads_no_file(
    server: psycopg.Connection, tmp_path: Path
) -> None:
    """Texts glued together at random, of which those that the guard allows are run."""
    file = tmp_path / "mark"
    file.write_text(MARK)
    chance = random.Random(7)  # noqa: S311 - the same texts each time
    soup = [part.replace("{file}", str(file)) for part in SOUP]
    texts = ["".join(chance.choices(soup, k=chance.randint(2, 14))) for _ in range(5_000)]
    texts = [f"select 1{text}" for text in texts]
    allowed = [text for text in texts if sql_only_looks(text, SqlDialect.POSTGRES)]
    allowed += [text for text in HONEST[SqlDialect.POSTGRES] if not text.startswith("\\")]
    assert len(allowed) > 60
    for text in allowed:
        assert MARK not in shown(server, text), text
        assert alive(server), text


def test_honest_looks_are_valid_sql(server: psycopg.Connection) -> None:
    """The cases that must stay allowed say something to PostgreSQL."""
    for text in HONEST[SqlDialect.POSTGRES]:
        if not text.startswith("\\"):
            assert shown(server, text).startswith("["), text
