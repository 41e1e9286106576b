"""Findings in words."""

import pytest

from orchestrator.words.findings import findings_in_words
from shared.domain.finding_words import (
    describe_finding,
    describe_findings,
    explain_person,
    explain_refusal,
)
from shared.domain.findings import Effect, Finding, GateRule, NameFault, Weakening
from shared.wire import to_json

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


def test_words_from_a_row_are_those_of_the_findings() -> None:
    found = (
        Finding(GateRule.SECRET, Effect.REFUSE, "a.py", "token", count=3),
        Finding(GateRule.STEERING, Effect.PERSON, "AGENTS.md", more=2),
    )
    lines = [
        "refused: a.py, line 3, looks like a secret (token)",
        "a person has to allow it: AGENTS.md steers agents, CI or git; the same is true of 2 more",
    ]
    assert list(describe_findings(found)) == lines
    assert list(findings_in_words(to_json(each) for each in found)) == lines
    assert (
        explain_refusal(found)
        == "the delivery was refused: a.py, line 3, looks like a secret (token)"
    )
    assert explain_person(found).startswith("AGENTS.md steers")
    assert explain_refusal(found[1:]) == explain_person(found[:1]) == ""
