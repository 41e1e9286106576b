"""Findings in words."""

import pytest

from shared.domain.finding_words import (
    describe_finding,
    describe_findings,
    explain_person,
    explain_refusal,
)
from shared.domain.findings import Effect, Finding, GateRule, NameFault, Weakening

DETAILS: dict[GateRule, list[str]] = {
    GateRule.NAME: list(NameFault),
    GateRule.TEST_WEAKENED: list(Weakening),
}


@pytest.mark.parametrize("rule", GateRule)
def test_every_rule_has_words(rule: GateRule) -> None:
    for detail in DETAILS.get(rule, ["what it found"]):
        told = describe_finding(Finding(rule, Effect.REFUSE, "a.py", detail, 3, 5))
        assert len(told.split()) > 2
        assert "None" not in told


@pytest.mark.parametrize(
    ("effect", "told"),
    [
        (Effect.PERSON, "x/f: the rule x/=person asks for a person"),
        (Effect.REVIEW, "x/f: the rule x/=review asks for a reviewer"),
    ],
)
def test_a_rule_is_told_as_it_is_written(effect: Effect, told: str) -> None:
    assert describe_finding(Finding(GateRule.TRUST, effect, "x/f", "x/")) == told


@pytest.mark.parametrize(
    ("how", "told"),
    [
        (Weakening.TESTS, "a.py tests less: 1 of its 3 tests is gone"),
        (Weakening.ASSERTIONS, "a.py tests less: it has 2 assertions, and had 3"),
        (
            Weakening.SKIPPED,
            "a.py tests less: 2 marks in it keep tests from counting, 3 did before",
        ),
    ],
)
def test_how_a_test_file_is_weaker_is_told_in_numbers(how: Weakening, told: str) -> None:
    weaker = Finding(GateRule.TEST_WEAKENED, Effect.PERSON, "a.py", how, 2, 3)
    assert describe_finding(weaker) == told


def test_findings_are_told_to_whom_they_concern() -> None:
    found = (
        Finding(GateRule.SECRET, Effect.REFUSE, "a.py", "token", count=3),
        Finding(GateRule.STEERING, Effect.PERSON, "AGENTS.md", more=2),
    )
    lines = [
        "refused: a.py, line 3, looks like a secret (token)",
        "a person has to allow it: AGENTS.md steers agents, CI or git; the same is true of 2 more",
    ]
    assert list(describe_findings(found)) == lines
    assert (
        explain_refusal(found)
        == "the delivery was refused: a.py, line 3, looks like a secret (token)"
    )
    assert explain_person(found).startswith("AGENTS.md steers")
    assert explain_refusal(found[1:]) == explain_person(found[:1]) == ""
