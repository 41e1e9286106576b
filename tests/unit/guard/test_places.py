"""Places of a policy: which paths a pattern names, what a site declares, what no site can."""

from pathlib import Path

import pytest

from shared.guard import Guard, load_site
from shared.guard.policy.path_patterns import PathPatterns
from shared.guard.words import Glob, Hole, Text, Word, literal_word

PATTERNS = PathPatterns(["/etc/shadow*", "~/.ssh/*", "*/privkey*", "/var/lib/*/keys"])


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("/etc/shadow", True),
        ("/ETC/Shadow-", True),
        ("/mnt/etc/shadow", False),
        ("/srv/tls/PrivKey.pem", True),
        ("/var/lib/a/b/keys", True),
        ("/etc/passwd", False),
    ],
)
def test_a_pattern_names_a_path_however_it_is_spelled(path: str, named: bool) -> None:
    """A star is any text, slashes included."""
    assert (PATTERNS.naming(literal_word(path)) is not None) is named


@pytest.mark.parametrize(
    ("directory", "holds"),
    [("/", True), ("/etc", True), ("/var", True), ("/var/lib/x", True), ("/srv", False)],
)
def test_a_tree_holds_what_an_anchored_pattern_may_name_in_it(directory: str, holds: bool) -> None:
    """A pattern for any folder says nothing about a single tree."""
    assert (PATTERNS.below(literal_word(directory)) is not None) is holds


def test_an_unknown_part_may_be_anything() -> None:
    """A pattern of the shell and a variable are met where they may name a secret."""
    assert PATTERNS.naming(Word((Text("/etc/"), Glob("shad*")))) is not None
    assert PATTERNS.naming(Word((Text("/etc/"), Hole()))) is not None
    assert PATTERNS.naming(Word((Text("/srv/"), Glob("*.txt")))) is not None
    assert PATTERNS.naming(Word((Text("/usr/x/"), Glob("[a-c]")))) is None


SITE = """
places:
  projects: [/opt/shop]
  readable: [/etc/shop]
  hosts: ["*.example.com"]
"""


@pytest.fixture
def site(tmp_path: Path) -> Guard:
    """A site that declares a project, a folder to read and its hosts."""
    path = tmp_path / "policy.yaml"
    path.write_text(SITE)
    return Guard(load_site(path).for_host())


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("/opt/shop/deploy.sh v1", "allow"),
        ("/opt/shop/bin/deploy.sh v1", "allow"),
        ("/opt/other/deploy.sh v1", "approve"),
        ("/opt/shop/vendor/bin/tool x", "approve"),
        ("cat /etc/shop/shop.conf", "allow"),
        ("cat /etc/shop/private/x", "approve"),
        ("cat /etc/other/other.conf", "approve"),
        ("curl -s https://www.example.com/", "allow"),
        ("curl -s http://localhost:8080/health", "allow"),
        ("curl -s https://other.example.org/", "approve"),
        ("ping -c 1 192.0.2.1", "approve"),
    ],
)
def test_a_site_declares_its_projects_folders_and_hosts(
    site: Guard, command: str, kind: str
) -> None:
    """What it does not declare asks."""
    assert site.judge(command).kind.value == kind


def test_no_policy_opens_replan_to_a_plan(tmp_path: Path) -> None:
    """Not even one that lists its program, its folder and its variables."""
    path = tmp_path / "policy.yaml"
    path.write_text(
        "unlisted: allow\nallow: [{reason: for a test, rules: [replan]}]\n"
        "variables: [REPLAN_*]\nplaces: {readable: [/], write: [/], public: ['*']}\n"
    )
    guard = Guard(load_site(path).for_host())
    for command in ("replan doctor", "cat ~/.replan/x", "REPLAN_HOME=x ls", "sudo replan doctor"):
        verdict = guard.judge(command)
        assert (verdict.kind, verdict.rule) == ("deny", "replan-itself"), command
