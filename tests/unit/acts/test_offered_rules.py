"""Which rules are offered beside a question, and why none can help."""

import pytest

from orchestrator.acts.offered_rules import answer_to
from orchestrator.proposals.obstacles import NoRule
from shared.domain.approval import ApprovalRequest, Subject, SubtaskPart, SubtaskPlace
from shared.domain.host import LOCALHOST
from shared.domain.verdict import CRITICAL, NOT_PLANNED
from shared.guard import Guard, load_site

GUARD = Guard(load_site(None).for_host(None))


def _asked(command: str, rule: str, policy: str = GUARD.version) -> ApprovalRequest:
    subject = Subject(1, SubtaskPlace(1, 0, 1), command, LOCALHOST, policy)
    return ApprovalRequest(SubtaskPart.COMMAND, subject, rule, "the reason")


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (CRITICAL, NoRule.WANTED),
        (NOT_PLANNED, NoRule.WANTED),
        ("written-script", NoRule.BROUGHT),
        ("unpacked-place", NoRule.BROUGHT),
    ],
)
def test_what_asks_though_the_rules_allow_it_is_offered_none(rule: str, why: NoRule) -> None:
    """A person was asked for, or something of a plan lies there."""
    (obstacle,) = answer_to(_asked("df -h", rule), lambda _: GUARD).obstacles
    assert (obstacle.kind, obstacle.reason) == (why, "the reason")


def test_what_rules_do_not_list_is_offered_one() -> None:
    asked = _asked("frobnicate now", "unlisted-program")
    (rule,) = answer_to(asked, lambda _: GUARD).rules
    assert rule.command == "frobnicate now"


def test_no_rule_is_offered_under_another_policy() -> None:
    asked = _asked("frobnicate now", "unlisted-program", "another")
    (obstacle,) = answer_to(asked, lambda _: GUARD).obstacles
    assert obstacle.kind is NoRule.OTHER_POLICY
