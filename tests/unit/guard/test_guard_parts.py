"""The small parts: patterns against what is half known, paths, verdicts."""

import pytest

from shared.domain.verdict import ALLOWED, Verdict, VerdictKind, worst
from shared.guard.globs import Match, Pattern
from shared.guard.paths import canonical, whole_directory
from shared.guard.programs.sql import statements
from shared.guard.words import HOME, Glob, Hole, Text, Word, literal_word


def word(*parts: str | Hole) -> Word:
    """A word of texts, globs (which hold a `*`, `?` or `[`) and holes."""
    pieces = (
        part if isinstance(part, Hole) else Glob(part) if set(part) & set("*?[") else Text(part)
        for part in parts
    )
    return Word(tuple(pieces))


HOLE = Hole()
BELOW = Hole(below=True)


@pytest.mark.parametrize(
    ("pattern", "given", "expected"),
    [
        ("ab", literal_word("ab"), Match.YES),
        ("ab", literal_word("abc"), Match.NO),
        ("a*", literal_word("a/b"), Match.YES),
        ("a?c", literal_word("abc"), Match.YES),
        ("a[b-d]c", literal_word("acc"), Match.YES),
        ("a[!b]c", literal_word("abc"), Match.NO),
        ("ab", word("a", HOLE), Match.MAYBE),
        ("ab", word("b", HOLE), Match.NO),
        ("ab", word(HOLE, "b"), Match.MAYBE),
        ("ab", word(HOLE, "c"), Match.NO),
        ("a*b", word(HOLE), Match.MAYBE),
        ("*", word(HOLE), Match.YES),
        ("*", word(Hole(split=True)), Match.MAYBE),
        ("/etc", word("/[a-z]*"), Match.YES),
        ("/etc", word("/[x-z]*"), Match.NO),
        ("/etc", word("*"), Match.NO),
        ("/dev/sd*", word("/dev/s*"), Match.MAYBE),
    ],
)
def test_a_pattern_answers_yes_no_or_perhaps(pattern: str, given: Word, expected: Match) -> None:
    """Perhaps, whenever there is a value of the unknown parts that fits and one that does not."""
    assert Pattern(pattern).match(given) is expected


@pytest.mark.parametrize(
    ("given", "directory", "expected"),
    [
        (literal_word("/"), literal_word("."), "/"),
        (literal_word("//a/./b/../c/"), literal_word("."), "/a/c"),
        (literal_word("/../.."), literal_word("."), "/"),
        (literal_word("a"), literal_word("."), "./a"),
        (literal_word("."), literal_word("/etc"), "/etc"),
        (literal_word("../x"), literal_word("/etc/a"), "/etc/x"),
        (literal_word(".."), literal_word("."), "…"),
        (literal_word(f"{HOME}/a"), literal_word("/etc"), "~/a"),
        (literal_word(f"{HOME}/.."), literal_word("/etc"), "…"),
        (literal_word("/proc/self/root/etc"), literal_word("."), "/etc"),
        (word("/srv/", HOLE), literal_word("."), "…"),
        (word("/srv/", HOLE, "/a"), literal_word("."), "…/a"),
        (word("/srv/", HOLE, "/.."), literal_word("."), "…"),
        (word("/srv/", BELOW), literal_word("."), "/srv/…"),
        (word("a*"), literal_word("/etc"), "/etc/a*"),
        (literal_word("a"), word(HOLE), "…/a"),
        (literal_word("~"), literal_word("."), "./~"),
    ],
)
def test_a_path_has_one_form(given: Word, directory: Word, expected: str) -> None:
    """Dots, slashes and the working directory are gone; what may climb is unknown."""
    assert str(canonical(given, directory)) == expected


@pytest.mark.parametrize("given", ["/etc/*", "/etc/.*", "/etc/[a-z]*", "/etc/*/?", "/etc/.[!.]*"])
def test_all_that_is_in_a_directory_is_the_directory(given: str) -> None:
    """However the star is written."""
    assert str(whole_directory(word(given))) == "/etc"


def test_a_name_with_a_star_is_not_the_directory() -> None:
    """`/etc/*.bak` is a part of it only."""
    assert str(whole_directory(word("/etc/*.bak"))) == "/etc/*.bak"


def test_the_worst_verdict_counts_and_the_first_of_equals() -> None:
    """Deny before approve before allow."""
    approve = Verdict(VerdictKind.APPROVE, "a")
    deny = [Verdict(VerdictKind.DENY, name) for name in "bc"]
    assert worst([]) == ALLOWED
    assert worst([ALLOWED, approve]) == approve
    assert worst([approve, *deny, ALLOWED]) == deny[0]
    assert worst([]).allowed
    assert worst(deny).denied


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DROP  DATABASE\n prod", [("drop", "database", "prod")]),
        ("select 'drop database x; y'; drop table t", [("select", "?"), ("drop", "table", "t")]),
        ("-- a\ndrop /* b */ database", [("drop", "database")]),
        ('drop database "Prod"', [("drop", "database", "prod")]),
        (";;", []),
        ("do $x$ drop database a $x$", [("do", "?")]),
    ],
)
def test_sql_is_read_statement_by_statement(text: str, expected: list[tuple[str, ...]]) -> None:
    """Without comments, and with literals as what they are."""
    assert statements(text) == expected
