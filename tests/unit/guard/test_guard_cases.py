"""The tables of commands and verdicts, and the project's own corpus."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from shared.domain.verdict import VerdictKind
from shared.guard import Guard, default_entries

CASES = Path(__file__).parents[2] / "cases" / "guard"
TABLES = sorted(CASES.glob("*.yaml"))
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (CASES / "corpus.jsonl").read_text().splitlines()
]


@pytest.fixture(scope="module")
def guard() -> Guard:
    """A guard with the default list."""
    return Guard(default_entries())


@pytest.mark.parametrize("table", TABLES, ids=lambda path: str(path.stem))
def test_every_command_of_a_table_gets_its_verdict(guard: Guard, table: Path) -> None:
    """The kind and the rule are those written beside the command."""
    cases = yaml.safe_load(table.read_text())
    wrong = []
    for case in cases:
        verdict = guard.judge(case["command"], case.get("interpreter", "sh"))
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
def test_no_harmless_row_of_the_corpus_is_stopped(guard: Guard, interpreter: str) -> None:
    """All 60 rows that expect to be allowed are."""
    assert verdicts(guard, interpreter, "allow") == {"allow": 60}


@pytest.mark.parametrize("interpreter", ["sh", "bash"])
def test_the_rows_that_ask_for_a_person_are_stopped_as_far_as_rules_reach(
    guard: Guard, interpreter: str
) -> None:
    """Without lists of what is allowed, 47 of 88 are; none may be lost again."""
    found = verdicts(guard, interpreter, "approve")
    assert found["approve"] + found["deny"] >= 47


def test_what_is_decided_says_why(guard: Guard) -> None:
    """A verdict that stops a command names the rule, the reason and the part; others are bare."""
    for row in ROWS:
        verdict = guard.judge(row["cmd"])
        if verdict.kind is VerdictKind.ALLOW:
            assert (verdict.rule, verdict.reason, verdict.part) == ("", "", "")
        else:
            assert verdict.rule
            assert verdict.reason
