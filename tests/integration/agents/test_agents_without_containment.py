"""Hosts on which agents cannot run contained as the policy says, and what becomes of their work."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.words.repositories import describe_containment
from shared.domain.attempt import AgentResult
from shared.domain.budget import Ending
from shared.domain.containment import (
    AgentContainment,
    AgentRule,
    ContainmentRule,
    Missing,
    Networks,
)
from shared.domain.errors import Misconfigured
from shared.domain.host import LOCALHOST
from shared.domain.next_step import NextStep
from tests.integration.agents.conftest import Driving, agent
from workers.agents.containment.containing import find_containment
from workers.roles.guards import Guards
from workers.shells.remote.connections import HostConnections

REFUSES = 'echo "unshare failed: Operation not permitted" >&2; exit 1'
SECOND = 'case "$*" in "-U /bin"*) exit 1 ;; esac; exec /usr/bin/unshare "$@"'
LONELY = 'case "$*" in *make-rprivate*) exit 1 ;; esac; exec /bin/mount "$@"'
NO_TMPFS = 'case "$*" in *tmpfs*) exit 32 ;; esac; exec /bin/mount "$@"'
NO_REMOUNT = 'case "$*" in *remount,bind*,nosuid,nodev\\ /) exit 32 ;; esac; exec /bin/mount "$@"'
GATEWAY = "http://127.0.0.1:9"


def found_with(rule: AgentRule, gateway: str = GATEWAY) -> AgentContainment:
    """How agents run on this machine under that rule."""
    confinement = replace(Guards().confinement("localhost"), rule=rule)
    with closing(HostConnections()) as connections:
        return find_containment(connections.shell(LOCALHOST), confinement, gateway)


def put_in_place(folder: Path, monkeypatch: pytest.MonkeyPatch, program: str, does: str) -> None:
    """Have a program of the host do something else."""
    (folder / program).write_text(f"#!/bin/sh\n{does}\n")
    (folder / program).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


@pytest.mark.parametrize(
    ("program", "does", "missing"),
    [
        ("unshare", REFUSES, Missing.NAMESPACES),
        ("unshare", SECOND, Missing.NAMESPACES),
        ("mount", LONELY, Missing.PROPAGATION),
        ("mount", NO_TMPFS, Missing.TMPFS),
        ("mount", NO_REMOUNT, Missing.READONLY),
        ("mkfifo", "exit 1", Missing.RECORDS),
    ],
)
def test_a_host_without_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, does: str, missing: Missing
) -> None:
    put_in_place(tmp_path, monkeypatch, program, does)
    found = found_with(AgentRule())
    assert (found.networks, found.missing) == (None, missing), found
    assert "agents do not run contained on here" in describe_containment("here", found)


@pytest.mark.parametrize("networks", Networks)
def test_a_host_with_one_says_what_they_reach(networks: Networks) -> None:
    found = found_with(AgentRule(networks=networks))
    assert found == AgentContainment(networks)
    assert "agents run contained on here" in describe_containment("here", found)


def test_no_agent_runs_contained_where_the_policy_switches_it_off() -> None:
    assert found_with(AgentRule(ContainmentRule.OFF)) == AgentContainment(missing=Missing.OFF)


@pytest.mark.parametrize(
    ("rule", "networks"),
    [(ContainmentRule.POSSIBLE, Networks.ALL), (ContainmentRule.REQUIRED, None)],
)
def test_a_gateway_that_nothing_carries_to(
    rule: ContainmentRule, networks: Networks | None
) -> None:
    """Where a containment is required, its reach is, too."""
    found = found_with(AgentRule(rule, Networks.GATEWAY), "https://gateway.example.org")
    assert (found.networks, found.missing) == (networks, Missing.RELAY)


@pytest.mark.parametrize("confinement", [ContainmentRule.POSSIBLE], indirect=True)
def test_an_agent_runs_outside_where_it_may(
    driving: Driving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in_place(tmp_path, monkeypatch, "unshare", REFUSES)
    done, log = driving.drive(agent("touch new; echo 'end ok done'"))
    assert done.ending is Ending.DONE
    result = log.ended[0].result
    assert isinstance(result, AgentResult)
    assert (result.networks, result.changed_files) == (None, ("new",))


@pytest.mark.parametrize("confinement", [ContainmentRule.REQUIRED], indirect=True)
def test_no_agent_is_started_where_it_may_not(
    driving: Driving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is missing, at which stage, and what to type next are values."""
    put_in_place(tmp_path, monkeypatch, "unshare", REFUSES)
    with pytest.raises(Misconfigured) as caught:
        driving.drive(agent(f"touch {tmp_path}/ran; echo 'end ok done'"))
    assert caught.value.stage == "guard"
    assert caught.value.next_step == NextStep.of("repo check", "project")
    assert "namespaces: unshare failed: Operation not permitted" in caught.value.reason
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "confinement", [ContainmentRule.POSSIBLE, ContainmentRule.REQUIRED], indirect=True
)
def test_an_attempt_tells_what_it_reached(driving: Driving) -> None:
    _, log = driving.drive(agent("touch new; echo 'end ok done'"))
    result = log.ended[0].result
    assert isinstance(result, AgentResult)
    assert result.networks is Networks.ALL
