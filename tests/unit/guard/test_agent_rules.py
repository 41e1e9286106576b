"""How agents have to run, as a site's policy says it for all hosts, groups and one host."""

import re
from pathlib import Path

import pytest

from shared.domain.containment import AgentRule, ContainmentRule, Networks
from shared.domain.errors import Misconfigured
from shared.guard import load_site
from workers.roles.guards import Guards

POLICY = """
agents: {containment: required}
groups:
  builders: {hosts: ["build*"], agents: {networks: gateway}}
hosts:
  build2: {agents: {containment: possible}}
  lab: {agents: {containment: "off"}}
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)
    return file


def test_agents_run_contained_where_the_host_can_and_reach_what_their_account_does() -> None:
    assert load_site(None).for_host("web1").agents == AgentRule(
        ContainmentRule.POSSIBLE, Networks.ALL
    )


@pytest.mark.parametrize(
    ("host", "rule"),
    [
        ("web1", AgentRule(ContainmentRule.REQUIRED)),
        ("build1", AgentRule(ContainmentRule.REQUIRED, Networks.GATEWAY)),
        ("build2", AgentRule(ContainmentRule.POSSIBLE, Networks.GATEWAY)),
        ("lab", AgentRule(ContainmentRule.OFF)),
    ],
)
def test_the_most_specific_level_that_says_it_counts(
    policy: Path, host: str, rule: AgentRule
) -> None:
    """Although the rules about commands, and so the guards, are the same on all these hosts."""
    guards = Guards(policy)
    assert [guards.confinement(name).rule for name in ("web1", host)][-1] == rule
    assert guards((), host).version == guards((), "web1").version


def test_what_is_replans_own_is_hidden_from_agents(tmp_path: Path) -> None:
    hidden = Guards(own=[tmp_path]).confinement("web1").hidden
    assert str(tmp_path) in hidden.places
    assert "/etc/shadow*" in hidden.places


def test_what_is_replans_own_is_hidden_from_looks(tmp_path: Path) -> None:
    """Wherever its data, its vault and its keys lie: code that nobody reads may open them."""
    guards = Guards(own=[tmp_path])
    containing = guards.containing(guards((), "web1"))
    assert containing is not None
    assert str(tmp_path) in containing.hidden.places


def test_what_a_policy_calls_public_is_not_hidden(tmp_path: Path) -> None:
    """As the configuration of a registry that agents install packages from."""
    file = tmp_path / "policy.yaml"
    file.write_text("places: {public: [/etc/pip.conf]}")
    assert "/etc/pip.conf" in Guards().confinement("web1").hidden.places
    hidden = Guards(file).confinement("web1").hidden
    assert "/etc/pip.conf" not in hidden.places
    assert re.search(hidden.public, "/etc/pip.conf")


@pytest.mark.parametrize(
    "text", ["agents: {networks: some}", "agents: {containment: often}", "agents: {network: all}"]
)
def test_a_word_that_means_nothing_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(text)
    with pytest.raises(Misconfigured):
        load_site(file)
