"""Planners learn the policy: everything that is denied, what runs and what needs approval."""

from pathlib import Path

from shared.guard import load_site, only_forbidden
from workers.llm.in_force import describe_policy
from workers.llm.texts import prompt_texts

SHORTEST_CACHED = 1024
"""The provider of the default model caches nothing shorter than this many tokens."""

CHARACTERS_A_TOKEN = 4
"""For English text; never much more."""


def test_what_is_denied_what_runs_and_where_is_told() -> None:
    told = describe_policy(load_site(None).for_host("web1"))
    for words in ("`reboot`", "`mkfs`", "`curl | sh`", "`apt-get`", "`systemctl`", "/var/www"):
        assert words in told
    assert "waits until a person" in told


def test_a_policy_that_lets_everything_else_run_says_so() -> None:
    told = describe_policy(only_forbidden(["reboot"]))
    assert "`reboot`" in told
    assert "Everything else runs" in told
    assert "a person has read" not in told


def test_what_a_site_forbids_is_told(tmp_path: Path) -> None:
    site = tmp_path / "policy.yaml"
    site.write_text("forbid:\n  - reason: this is the archive\n    rules: [pg_dropcluster]\n")
    assert "this is the archive: `pg_dropcluster`" in describe_policy(
        load_site(site).for_host("web1")
    )


def test_the_stable_part_is_the_same_each_time_and_long_enough_to_be_cached() -> None:
    first, second = (describe_policy(load_site(None).for_host(name)) for name in ("web1", "db1"))
    assert first == second
    assert len(prompt_texts().house + first) > SHORTEST_CACHED * CHARACTERS_A_TOKEN
