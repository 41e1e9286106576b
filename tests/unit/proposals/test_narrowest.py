"""Proposals: the narrowest rules that allow what asked, and nothing else."""

import json
from itertools import chain
from pathlib import Path
from typing import Final

import pytest
import yaml

from orchestrator.proposals.narrowest import guard_with, propose
from orchestrator.proposals.obstacles import NoRule
from shared.guard import Guard, load_site
from shared.guard.policy.files import RuleText

CASES: Final = Path(__file__).parents[2] / "cases" / "guard"
SAMPLE: Final = 6
"""Every sixth hostile text is one that a person approves."""


@pytest.fixture(scope="module")
def guard() -> Guard:
    """The guard of a fresh installation."""
    return Guard(load_site(None).for_host())


@pytest.mark.parametrize(
    ("command", "rules"),
    [
        ("webctl graceful", ["webctl graceful"]),
        ("sudo webctl graceful", ["webctl graceful"]),
        ("ufw allow 80/tcp", ["ufw allow 80/tcp"]),
        ("rm -rf /srv/app/releases/2023", ["rm -rf /srv/app/releases/2023"]),
        ("mkdir /srv/x && a2dissite 000-default", ["a2dissite 000-default"]),
        ("webctl configtest && webctl graceful",
         ["webctl configtest", "webctl graceful"]),
        ("postconf -e 'relayhost = [a]:587'", ["postconf -e 'relayhost = [a]:587'"]),
        ("cd /srv/app && git reset --hard v1", ["git reset --hard v1"]),
    ],
)  # fmt: skip
def test_each_program_that_asked_gets_one_rule(
    guard: Guard, command: str, rules: list[str]
) -> None:
    """With all of them the text is allowed."""
    proposal = propose(guard, command)
    assert [rule.command for rule in proposal.rules] == rules
    assert not proposal.obstacles
    assert guard_with(guard, proposal.rules).judge(command).allowed


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("rm -rf /", NoRule.FORBIDDEN),
        ("$X -rf /srv", NoRule.UNKNOWN_WORD),
        ("webctl $X", NoRule.UNKNOWN_WORD),
        ("webctl *", NoRule.UNKNOWN_WORD),
        ("cd $X && webctl graceful", NoRule.UNKNOWN_WORD),
        ("kill 4711", NoRule.FLEETING),
        ("echo x | webctl graceful", NoRule.INPUT),
        ("cat /etc/shadow", NoRule.SECRET),
        ("appctl --key=/root/.ssh/id_rsa", NoRule.SECRET),
        ("appctl -C /etc shadow", NoRule.SECRET),
        ("env", NoRule.SECRET),
        ("echo x > /etc/motd", NoRule.PLACE),
        ("LD_PRELOAD=/tmp/x ls", NoRule.VARIABLE),
        ("python3 -c 'import os'", NoRule.CODE),
        ("bash /tmp/x.sh", NoRule.CODE),
        ("ksh x", NoRule.CODE),
        (". /srv/x", NoRule.CODE),
        ("apt-get install /tmp/x.deb", NoRule.BROUGHT),
        ("/tmp/x/appctl", NoRule.BROUGHT),
    ],
)
def test_what_no_rule_can_answer_gets_none(guard: Guard, command: str, kind: NoRule) -> None:
    """The first obstacle says why."""
    proposal = propose(guard, command)
    assert not proposal.rules
    assert kind in {obstacle.kind for obstacle in proposal.obstacles}, proposal
    assert all(obstacle.reason for obstacle in proposal.obstacles)


def test_a_rule_that_names_files_of_plans_asks_when_a_plan_writes(guard: Guard) -> None:
    """It counts as running code; what may write anything counts as bringing files."""
    assert [rule.code for rule in propose(guard, "psql -f /srv/app/x.sql").rules] in ([True], [])
    assert [rule.code for rule in propose(guard, "webctl graceful").rules] == [False]
    assert propose(guard, "webctl graceful").rules[0].brings
    assert not propose(guard, "ufw allow 80/tcp").rules[0].brings


def _hostile() -> list[str]:
    files = sorted(CASES.glob("*.jsonl"))
    rows = chain.from_iterable(map(str.splitlines, (path.read_text() for path in files)))
    known = (row for row in map(json.loads, rows) if "cmd" in row)
    texts = [row["cmd"] for row in known if row.get("expected", "allow") != "allow"]
    return list(dict.fromkeys(texts))


@pytest.mark.timeout(400)  # half a minute on a machine that does nothing else
def test_with_rules_for_some_every_other_hostile_text_still_asks(guard: Guard) -> None:
    """Each proposal allows its own text; what gets none from its own text gets none from others."""
    texts = _hostile()
    approved = texts[::SAMPLE]
    guard.judge_all(texts)
    proposals = {text: propose(guard, text) for text in approved}
    rules = {rule for proposal in proposals.values() for rule in proposal.rules}
    assert len(rules) > 50
    after = guard_with(guard, rules)
    offered = {text for text, proposal in proposals.items() if proposal.rules}
    assert all(after.judge(text).allowed for text in offered)
    allowed = [
        text
        for text, verdict in zip(texts, after.judge_all(texts), strict=True)
        if verdict.allowed and text not in offered and not guard.judge(text).allowed
    ]
    for text in allowed:  # another spelling of programs that were approved
        assert set(propose(guard, text).rules) <= rules, text
        assert propose(guard, text).rules, text


def test_a_rule_is_read_again_as_it_was_written(guard: Guard) -> None:
    """Through YAML and the reader of policy files."""
    for text in ("ufw allow 80/tcp", 'postconf -e "it\'s = [a]\nb"', "webctl ~/x", "mount -a"):
        (rule,) = propose(guard, text).rules
        again = RuleText.model_validate(yaml.safe_load(yaml.safe_dump(rule.written())))
        assert again == rule.text()
        assert guard_with(guard, [rule]).judge(text).allowed
