"""The class of an error follows from the results of the attempt (S1.32)."""

import re
from datetime import UTC, datetime

import pytest

from shared.domain.attempt import Attempt, CommandResult
from shared.domain.error_class import ErrorClass
from shared.domain.outcome import Outcome
from tests.unit.shells.test_held_locks import HELD_BY_NOBODY, HELD_BY_SOMEBODY
from workers.evidence.error_class import class_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def failed_attempt(stderr: str = "", outcome: Outcome = Outcome.FAILED) -> Attempt:
    result = CommandResult("c", 1, b"", stderr.encode(), NOW, NOW)
    return Attempt("k", 1, 1, 0, 1, 1, 0, 1, "c", outcome, NOW, NOW, result=result)


@pytest.mark.parametrize(
    ("stderr", "expected"),
    [
        ("E: Could not get lock /var/lib/dpkg/lock-frontend", ErrorClass.BUSY),
        ("curl: (6) Could not resolve host: example.org", ErrorClass.NETWORK),
        ("connect: Connection refused", ErrorClass.NETWORK),
        ("mkdir: cannot create directory '/x': Permission denied", ErrorClass.RIGHTS),
        ("sh: 1: psql: not found", ErrorClass.MISSING),
        ("cat: /x: No such file or directory", ErrorClass.MISSING),
        ("E: Unable to locate package postgresql", ErrorClass.MISSING),
        ("something else", ErrorClass.OTHER),
        ("", ErrorClass.OTHER),
    ],
)
def test_words_tell_the_class(stderr: str, expected: ErrorClass) -> None:
    assert class_of(failed_attempt(stderr)) is expected


@pytest.mark.parametrize(
    ("outcome", "stderr", "expected"),
    [
        (Outcome.TIMED_OUT, "Permission denied", ErrorClass.TIMEOUT),
        (Outcome.CHECK_FAILED, "", ErrorClass.CHECK),
        (Outcome.CHECK_FAILED, "Permission denied", ErrorClass.RIGHTS),
        (Outcome.PRECONDITION_UNMET, "", ErrorClass.PRECONDITION),
    ],
)
def test_the_way_it_ended_tells_where_words_do_not(
    outcome: Outcome, stderr: str, expected: ErrorClass
) -> None:
    assert class_of(failed_attempt(stderr, outcome)) is expected


def test_no_attempt_says_nothing() -> None:
    assert class_of(None) is ErrorClass.OTHER


RIGHTS = re.compile(r"permission denied|not permitted|EACCES|superuser|root", re.IGNORECASE)


@pytest.mark.parametrize("output", HELD_BY_SOMEBODY)
def test_a_held_lock_is_worth_another_try(output: str) -> None:
    assert class_of(failed_attempt(output)) is ErrorClass.BUSY


@pytest.mark.parametrize("output", [each for each in HELD_BY_NOBODY if "fork" not in each])
def test_a_lock_that_nobody_holds_is_not_worth_one(output: str) -> None:
    """Messages about rights are of the class of rights, whatever lock they name."""
    found = class_of(failed_attempt(output))
    assert found is not ErrorClass.BUSY
    assert (found is ErrorClass.RIGHTS) is (RIGHTS.search(output) is not None)
