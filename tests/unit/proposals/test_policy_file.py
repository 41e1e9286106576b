"""Adding rules to a policy file: every line of it stays, and the rules are read as meant."""

from pathlib import Path

import pytest
import yaml

from orchestrator.proposals.policy_file import (
    NotEditableError,
    RuleGroup,
    RuleScope,
    ScopeKind,
    fragment,
    staged,
    with_group,
)
from shared.guard import Guard, load_site

GROUP = RuleGroup(
    "approved by ann@desk in T3.1",
    ({"run": "webctl", "style": "exact", "operands": "'it''s: #1'", "directory": "."},),
    ('webctl "it\'s: #1"',),
)
SITE = RuleScope(ScopeKind.SITE)
WEB = RuleScope(ScopeKind.GROUP, "web")
DB1 = RuleScope(ScopeKind.HOST, "db1")

FULL = """\
# the policy of our site

profiles: [read-only]   # and no more
allow:
  # deploying
  - reason: our own deployment
    rules:
      - /opt/app/bin/deploy.sh   # with any words
    # a comment at the end

# groups follow
groups:
    web:
        hosts: ["web*"]
        allow:
        - reason: the web servers' own
          rules: [webctl status]

    # nothing more for web
    db: {hosts: ["db*"]}
hosts:
  web7:
    checks:
      deny:
        - >-
          rm -rf
          /

# the end
"""

LAYOUTS = {
    "full": FULL,
    "no-newline": "groups:\n  web:\n    hosts: [web1]\nallow:\n- reason: some reason\n  rules: [x]",
    "empty-list": "allow: []\ngroups:\n  web:\n    hosts: [web1]\n    allow: []\n",
    "bare": "profiles: [read-only]\ngroups:\n  web:\n    hosts: [web1]\n",
}


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
@pytest.mark.parametrize("scope", [SITE, WEB, DB1], ids=str)
def test_rules_are_added_and_nothing_else_changes(
    tmp_path: Path, layout: str, scope: RuleScope
) -> None:
    """Every comment and every line stays in its order; the rule holds where it was meant to."""
    before = LAYOUTS[layout]
    after = with_group(before, scope, GROUP)
    path = tmp_path / "policy.yaml"
    path.write_text(after)
    kept = iter(after.splitlines())
    for line in before.splitlines():
        shown = line.removesuffix(" []") if layout == "empty-list" else line
        assert any(shown in (each, each.removesuffix(" []")) for each in kept), line
    for host in (None, "web1", "db1"):
        holds = scope is SITE or host == {WEB: "web1", DB1: "db1"}[scope]
        guard = Guard(load_site(path).for_host(host))
        assert guard.judge(GROUP.allow[0]).allowed is holds


def test_twice_is_two_groups() -> None:
    """What was added is a place to add to."""
    twice = with_group(with_group("profiles: [read-only]\n", DB1, GROUP), DB1, GROUP)
    assert yaml.safe_load(twice)["hosts"]["db1"]["allow"] == [GROUP.data()] * 2


@pytest.mark.parametrize(
    ("text", "scope", "told"),
    [
        ("{profiles: [read-only]}", SITE, "each line"),
        ("allow: [{reason: some reason, rules: [x]}]", SITE, "on one line"),
        (FULL, RuleScope(ScopeKind.GROUP, "db"), "on one line"),
        (FULL, RuleScope(ScopeKind.GROUP, "nosuch"), "no group nosuch"),
        ("hosts: {db1: {profiles: [strict]}}\nprofiles: [strict]", DB1, "on one line"),
    ],
)
def test_what_cannot_be_edited_safely_is_left_alone(text: str, scope: RuleScope, told: str) -> None:
    """The person is shown what to add instead."""
    with pytest.raises(NotEditableError, match=told):
        with_group(text, scope, GROUP)


@pytest.mark.parametrize("scope", [SITE, WEB, DB1], ids=str)
def test_a_fragment_is_a_policy_of_its_own(tmp_path: Path, scope: RuleScope) -> None:
    """It is what a person copies, or writes to a file."""
    path = tmp_path / "policy.yaml"
    path.write_text(fragment(scope, [GROUP], ["web*"]))
    host = {SITE: None, WEB: "web1", DB1: "db1"}[scope]
    assert Guard(load_site(path).for_host(host)).judge(GROUP.allow[0]).allowed


def test_the_file_is_replaced_in_one_step_or_not_at_all(tmp_path: Path) -> None:
    """Its mode stays; what somebody else has written meanwhile is not overwritten."""
    path = tmp_path / "real.yaml"
    path.write_text("old")
    path.chmod(0o640)
    link = tmp_path / "policy.yaml"
    link.symlink_to(path)
    with staged(link, "new", "old") as file:
        assert path.read_text() == "old"
        file.put()
    assert path.read_text() == "new"
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(NotEditableError), staged(link, "newer", "old"):
        pass
    with staged(link, "newer", "new"):
        pass
    assert sorted(each.name for each in tmp_path.iterdir()) == ["policy.yaml", "real.yaml"]
