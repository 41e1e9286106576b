"""What each error of Postgres means: transient or the operator's, in plain words."""

import psycopg
import pytest
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from shared.domain.errors import Defect, Misconfigured, ReplanError, Transient
from shared.domain.next_step import command_line
from shared.store.database import translate
from shared.store.sqlstate import AT_LOGIN, MEANINGS, meaning

CODES = sorted(
    {
        code
        for kind in vars(psycopg.errors).values()
        if isinstance(kind, type)
        and issubclass(kind, psycopg.Error)
        and (code := getattr(kind, "sqlstate", None))
    }
)
"""Every code that Postgres documents."""

OURS = {
    *("02", "03", "0A", "0B", "0F", "0L", "0P", "0Z", "10", "20", "21", "22", "23", "24"),
    *("25", "26", "27", "2B", "2D", "2F", "34", "38", "39", "3B", "3D", "3F", "42", "44"),
    *("09", "P0", "HV"),
}
"""Classes that blame the statement, and so this program: but for the rows of the table."""


def translated(code: str | None, sentence: str = "said the server") -> ReplanError:
    """Our error for one of the driver."""
    kind = psycopg.OperationalError if code is None else psycopg.errors.lookup(code)
    with pytest.raises(ReplanError) as caught:
        translate(DBAPIError.instance("SELECT 1", {}, kind(sentence), psycopg.Error))
    return caught.value


def test_there_are_many_codes() -> None:
    assert len(CODES) > 200
    assert set(MEANINGS) - {code[:2] for code in CODES} <= set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_a_row_or_blames_this_program(code: str) -> None:
    error = translated(code)
    assert "said the server" in error.reason
    if meaning(code, "") is None:
        assert code[:2] in OURS
        assert isinstance(error, Defect)
    else:
        assert isinstance(error, Transient | Misconfigured)
        assert error.next_step is not None


@pytest.mark.parametrize(
    ("code", "family", "words"),
    [
        ("08006", Transient, "was lost"),
        ("25006", Transient, "read-only"),
        ("25P03", Transient, "paused"),
        ("28P01", Misconfigured, "refuses the login"),
        ("3D000", Misconfigured, "no such database"),
        ("40001", Transient, "conflict"),
        ("40P01", Transient, "conflict"),
        ("42501", Misconfigured, "right"),
        ("42P01", Misconfigured, "no tables"),
        ("42601", Defect, "said the server"),
        ("53100", Transient, "disk of the database is full"),
        ("53200", Transient, "out of memory"),
        ("53300", Transient, "no more connections"),
        ("53400", Transient, "limit of its configuration"),
        ("55P03", Transient, "holds a lock"),
        ("57014", Transient, "took too long"),
        ("57P01", Transient, "shut down"),
        ("57P02", Transient, "crashed"),
        ("57P03", Transient, "starting up"),
        ("57P05", Transient, "idle"),
        ("58030", Transient, "read or write its disk"),
        ("58P01", Transient, "system below"),
        ("XX000", Transient, "error in itself"),
        ("XX001", Misconfigured, "damaged"),
    ],
)
def test_an_operator_is_told_in_words(code: str, family: type[ReplanError], words: str) -> None:
    error = translated(code)
    assert isinstance(error, family)
    assert words in error.reason


@pytest.mark.parametrize("sentence", AT_LOGIN)
def test_a_refused_login_is_known_by_its_sentence(sentence: str) -> None:
    """No code comes with it."""
    error = translated(None, f'connection failed: FATAL:  {sentence} "x"')
    found = meaning(AT_LOGIN[sentence], "")
    assert found is not None
    assert type(error) is found.family
    assert error.reason.startswith(found.words)


def test_what_nobody_has_said_is_that_nobody_is_there() -> None:
    error = translated(None, "connection refused")
    assert isinstance(error, Transient)
    assert error.reason == "the database cannot be reached: connection refused"
    assert command_line(error.next_step) == "replan config show database_url"


def test_a_pool_that_is_used_up_is_transient() -> None:
    with pytest.raises(Transient, match="all connections of this process"):
        translate(PoolTimeoutError("QueuePool limit"))


def test_the_sentence_of_the_server_is_one_line() -> None:
    cause = psycopg.errors.lookup("53100")("no room\nHINT: make some")
    with pytest.raises(Transient) as caught:
        translate(OperationalError("SELECT 1", {}, cause))
    assert "\n" not in caught.value.reason
