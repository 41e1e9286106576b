"""SQL inside commands: read as the database and its client read it, or not at all."""

import sqlite3

import pytest

from shared.guard.programs.sql import SqlDialect, UnreadableSql, statements, statements_of
from shared.guard.programs.sql_looks import sql_only_looks
from tests.unit.guard.sql_cases import HONEST, HOSTILE

LOOKS = [(dialect, text) for dialect, texts in HONEST.items() for text in texts]
TRICKS = [(dialect, text) for dialect, texts in HOSTILE.items() for text in texts]


@pytest.mark.parametrize(("dialect", "text"), LOOKS)
def test_what_only_looks_is_allowed(dialect: SqlDialect, text: str) -> None:
    """Statements, functions and commands of the client that change nothing and show no secret."""
    assert sql_only_looks(text, dialect)


@pytest.mark.parametrize(("dialect", "text"), TRICKS)
def test_no_trick_hides_what_does_more(dialect: SqlDialect, text: str) -> None:
    """Neither comments nor quotes nor the client's own commands."""
    assert not sql_only_looks(text, dialect)
    assert not sql_only_looks(text)


def test_an_unknown_client_gets_the_narrowest_reading() -> None:
    """What is harmless to one client only is not harmless."""
    assert sql_only_looks("select count(*) from t")
    assert not sql_only_looks("\\l")
    assert not sql_only_looks("select `a` from t")


@pytest.mark.parametrize(
    ("dialect", "text", "expected"),
    [
        (SqlDialect.POSTGRES, "a /* /* */ b */ c", [("a", "c")]),
        (SqlDialect.MYSQL, "a # b ; c\nd", [("a", "d")]),
        (SqlDialect.MYSQL, "a\\Gb", [("a",), ("b",)]),
        (SqlDialect.SQLITE, "a [b;c] d", [("a", "b;c", "d")]),
        (SqlDialect.POSTGRES, "E'a\\';' ; $x$;$$;$x$", [("?",), ("?",)]),
    ],
)
def test_each_dialect_has_its_own_words(
    dialect: SqlDialect, text: str, expected: list[tuple[str, ...]]
) -> None:
    """Comments, quotes and ends of statements."""
    assert statements(text, dialect) == expected


@pytest.mark.parametrize("text", ["select 'a", "/* a", '"a', "$x$ a", "select \x01", "é"])
@pytest.mark.parametrize("dialect", SqlDialect)
def test_what_has_no_end_is_not_read(dialect: SqlDialect, text: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(UnreadableSql):
        statements_of(text, dialect)


def test_sqlite_itself_reads_the_same_statements() -> None:
    """What is allowed leaves a database of SQLite as it is."""
    database = sqlite3.connect(":memory:")
    database.executescript('create table t (a, b, "a b"); create table x (a)')
    before = database.total_changes
    for text in HONEST[SqlDialect.SQLITE]:
        if not text.startswith("."):
            database.execute(text).fetchall()
    assert database.total_changes == before
