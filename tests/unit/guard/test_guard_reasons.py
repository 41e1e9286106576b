"""The reasons that people read: they name what is the cause, and nothing else."""

import json
from pathlib import Path

import pytest

from shared.guard import Guard, load_site
from shared.guard.policy.misfit import (
    Misfit,
    MissingOption,
    OtherSubCommand,
    UnknownOption,
    WrongCount,
    cause,
)

CASES = Path(__file__).parents[2] / "cases" / "guard" / "reasons.jsonl"
ROWS = [json.loads(line) for line in CASES.read_text().splitlines()]


@pytest.fixture(scope="module")
def guard() -> Guard:
    """The guard of a fresh installation."""
    return Guard(load_site(None).for_host())


def test_every_reason_names_its_cause(guard: Guard) -> None:
    """Everyday commands that ask, each with the words that a person reads."""
    asking = [(row, guard.judge(row["cmd"])) for row in ROWS]
    asking = [(row, verdict) for row, verdict in asking if not verdict.allowed]
    wrong = [(row, found.reason) for row, found in asking if found.reason != row["reason"]]
    assert len(asking) > 20
    assert wrong == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["cmd"][:40])
def test_no_reason_asks_for_an_option_that_only_shows_a_version(
    guard: Guard, row: dict[str, str]
) -> None:
    """`docker pull` is not allowed because no rule lists it, not for want of `--version`."""
    reason = guard.judge(row["cmd"]).reason
    assert "--version" not in reason
    assert "operand too many for `systemctl`" not in reason


def test_the_rule_that_got_furthest_tells_the_cause() -> None:
    """An operand after all options, a count, a missing option, an unknown one, a sub-command."""
    misfits: list[Misfit] = [
        OtherSubCommand("image", "prune"),
        OtherSubCommand("image"),
        UnknownOption("unknown"),
        MissingOption("missing"),
        WrongCount("count"),
        Misfit("operand"),
    ]
    expected = ["operand", "count", "missing", "unknown"]
    for reason in expected:
        assert cause("x", misfits) == f"x: {reason}"
        misfits.pop()
    assert cause("x", misfits) == "no rule lists `x image prune`"


def test_what_is_forbidden_is_told_with_what_it_does(guard: Guard) -> None:
    """As the list of it says, which only some entries of a site do."""
    found = guard.judge("/sbin/reboot -f")
    assert found.denied
    assert found.reason.startswith("`reboot` is forbidden: /sbin/reboot -f (takes the host down, ")
    own = Guard(load_site(None).for_host(None, ("webctl",))).judge("webctl stop")
    assert own.reason == "`webctl` is forbidden: webctl stop"
