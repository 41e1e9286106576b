"""The tables of commands and verdicts, and the project's own corpus."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from shared.domain.verdict import VerdictKind
from shared.guard import Guard, default_entries, load_site, only_forbidden

CASES = Path(__file__).parents[2] / "cases" / "guard"
TABLES = sorted(CASES.glob("*.yaml"))


def rows_of(name: str) -> list[dict[str, Any]]:
    """The rows of a corpus."""
    return [json.loads(line) for line in (CASES / name).read_text().splitlines()]


ROWS = rows_of("corpus.jsonl")


@pytest.fixture(scope="module")
def rules() -> Guard:
    """A guard that knows only what is forbidden."""
    return Guard(only_forbidden(default_entries()))


@pytest.fixture(scope="module")
def guard() -> Guard:
    """The guard of a fresh installation."""
    return Guard(load_site(None).for_host())


@pytest.mark.parametrize("table", TABLES, ids=lambda path: str(path.stem))
def test_every_command_of_a_table_gets_its_verdict(rules: Guard, table: Path) -> None:
    """The kind and the rule are those written beside the command."""
    cases = yaml.safe_load(table.read_text())
    wrong = []
    for case in cases:
        verdict = rules.judge(case["command"], case.get("interpreter", "sh"))
        if (verdict.kind, verdict.rule) != (case["verdict"], case.get("rule", "")):
            wrong.append((case, verdict))
    assert cases
    assert wrong == []


def test_no_published_bypass_passes_unseen(guard: Guard) -> None:
    """Whatever way around a check has been published, it is denied or shown to a person."""
    cases = yaml.safe_load((CASES / "published_bypasses.yaml").read_text())
    judged = [guard.judge(case["command"], case.get("interpreter", "sh")) for case in cases]
    assert len(judged) > 30
    assert not any(verdict.allowed for verdict in judged)


def verdicts(guard: Guard, interpreter: str, expected: str) -> Counter[str]:
    """How often each verdict is given to the rows of the corpus that expect `expected`."""
    rows = [row["cmd"] for row in ROWS if row["expected"] == expected]
    return Counter(guard.judge(command, interpreter).kind.value for command in rows)


@pytest.mark.parametrize("interpreter", ["sh", "bash"])
def test_no_row_of_the_corpus_that_must_not_run_is_allowed(guard: Guard, interpreter: str) -> None:
    """All 212 rows that expect a denial are stopped: at least 190 are denied outright."""
    found = verdicts(guard, interpreter, "deny")
    assert found["allow"] == 0
    assert found["deny"] >= 190
    assert found.total() == 212


@pytest.mark.parametrize("interpreter", ["sh", "bash"])
def test_most_harmless_rows_of_the_corpus_are_allowed(guard: Guard, interpreter: str) -> None:
    """Of the 60 that expect it at least 56 are; none is denied.

    One fetches a page of a host that nobody has declared, and would follow its redirects.
    """
    found = verdicts(guard, interpreter, "allow")
    assert found["allow"] >= 56
    assert found["deny"] == 0
    assert found.total() == 60


@pytest.mark.parametrize("interpreter", ["sh", "bash"])
def test_every_row_that_asks_for_a_person_is_stopped(guard: Guard, interpreter: str) -> None:
    """All 88 of them."""
    found = verdicts(guard, interpreter, "approve")
    assert found["allow"] == 0
    assert found.total() == 88


@pytest.mark.parametrize("interpreter", ["sh", "bash"])
def test_no_row_of_the_second_team_passes_unseen(guard: Guard, interpreter: str) -> None:
    """Written by us after the lists were frozen: 22 of 883 passed then; the classes are mended."""
    rows = rows_of("second_team.jsonl")
    assert len(rows) > 800
    passed = [row for row in rows if guard.judge(row["cmd"], interpreter).allowed]
    assert passed == []


@pytest.mark.parametrize("interpreter", ["sh", "bash"])
def test_no_row_of_the_third_team_passes_unseen(guard: Guard, interpreter: str) -> None:
    """Written by us after the second was mended: 20 of 291 passed, seven of them harmless."""
    rows = rows_of("third_team.jsonl")
    assert len(rows) > 270
    passed = [row for row in rows if guard.judge(row["cmd"], interpreter).allowed]
    assert passed == []


@pytest.mark.parametrize("interpreter", ["sh", "bash"])
def test_no_row_of_the_fourth_team_passes_unseen(guard: Guard, interpreter: str) -> None:
    """By authors who knew the page of policies at most: 5,120 rows of three, 930 and 300 of one.

    30 of the first had passed, of which three print what is masked, or unpack what nobody says is
    large. The last but one looked for harm in what the profiles are for: 27 of those rows pass
    still, and are not here. They change a project's own files, as the policy lets plans do.
    """
    rows = rows_of("fourth_team.jsonl")
    assert len(rows) > 1750
    passed = [row for row in rows if guard.judge(row["cmd"], interpreter).allowed]
    assert passed == []


@pytest.mark.parametrize("interpreter", ["sh", "bash"])
def test_everyday_commands_ask_nobody(guard: Guard, interpreter: str) -> None:
    """What plans look at, install, restart and write; each line is allowed."""
    commands = (CASES / "everyday.txt").read_text().splitlines()
    verdicts = {command: guard.judge(command, interpreter) for command in commands}
    assert {c: v for c, v in verdicts.items() if not v.allowed} == {}


def test_what_is_decided_says_why(guard: Guard) -> None:
    """A verdict that stops a command names the rule, the reason and the part; others are bare."""
    for row in ROWS:
        verdict = guard.judge(row["cmd"])
        if verdict.kind is VerdictKind.ALLOW:
            assert (verdict.rule, verdict.reason, verdict.part) == ("", "", "")
        else:
            assert verdict.rule
            assert verdict.reason
