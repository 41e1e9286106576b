"""The tests of a policy file: on every level where they must hold."""

from pathlib import Path

import pytest

from orchestrator.cli.main import main
from orchestrator.proposals.policy_tests import policy_tests
from shared.guard import load_site

SITE = """
profiles: [read-only]
allow:
  - reason: the web server is told to read its files again
    rules: [{run: webctl graceful, style: exact, directory: .}]
    allow: [webctl graceful]
    approve: [webctl stop]
groups:
  web:
    hosts: ["web*"]
    forbid: [{reason: nobody does it here, rules: [webctl GONE], deny: [webctl GONE]}]
hosts:
  web7: {checks: {approve: [webctl restart]}}
"""


def written(folder: Path, gone: str) -> Path:
    """A policy file that forbids this on the hosts of a group."""
    path = folder / "policy.yaml"
    path.write_text(SITE.replace("GONE", gone))
    return path


def test_each_level_passes_its_own_tests_and_those_of_all_hosts(tmp_path: Path) -> None:
    """A group that forbids what the whole file promises breaks that promise."""
    sound = list(policy_tests(load_site(written(tmp_path, "halt"))))
    assert [test.level for test in sound] == [
        *(None, None),
        *("group web",) * 3,
        *("host web7",) * 4,
    ]
    assert all(test.passed for test in sound)
    broken = [
        test for test in policy_tests(load_site(written(tmp_path, "graceful"))) if not test.passed
    ]
    assert [(test.level, test.command, test.verdict) for test in broken] == [
        ("group web", "webctl graceful", "deny"),
        ("host web7", "webctl graceful", "deny"),
    ]


@pytest.mark.parametrize(
    ("gone", "code", "told"),
    [("halt", 0, "9 passed"), ("graceful", 1, "7 passed, 2 failed")],
)
def test_the_command_prints_a_summary_and_ends_with_one_if_a_test_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], gone: str, code: int, told: str
) -> None:
    """As test runners do."""
    assert main(["guard", "test", str(written(tmp_path, gone))]) == code
    assert told in capsys.readouterr().out
    assert main(["guard", "test", str(tmp_path / "none.yaml")]) == 2
