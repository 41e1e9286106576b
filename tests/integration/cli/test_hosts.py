"""Hosts: enrolled with the key they show, and refused with a reason when something is wrong."""

import json
import logging
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.acts.host_keys import require_acceptance
from shared.domain.errors import Misconfigured, Rejected
from shared.domain.host import Host
from shared.domain.next_step import command_line
from tests.integration.cli.calling import Cli
from tests.services.sshd import SshServer, SshServers


def reaching(server: SshServer, key: Path | None = None) -> list[object]:
    """The options that reach a server."""
    address = ["--address", server.host, "--port", server.port]
    return [*address, "--user", server.user, "--key", key or server.key_path]


def test_a_host_is_enrolled_checked_listed_and_removed(cli: Cli, sshd: SshServer) -> None:
    added = cli.json("host", "add", "web1", *reaching(sshd))
    assert added["details"]["fingerprint"].startswith("SHA256:")
    assert added["details"]["report"]["facts"]["user"] == sshd.user
    (host,) = cli.json("host", "list")["details"]["hosts"]
    assert (host["name"], host["port"]) == ("web1", sshd.port)
    assert Path(host["key_path"]).is_absolute()
    details = cli.json("host", "show", "web1")["details"]
    assert details["fingerprint"] == added["details"]["fingerprint"]
    said = cli("host", "show", "web1").out
    assert f"where: {sshd.user}@{sshd.host}:{sshd.port}\n" in said
    assert f"runs as: {sshd.user}\n" in said
    checked = cli.json("host", "check", "web1")["details"]["report"]
    assert checked["runs_commands"] is True
    told = cli("host", "check", "web1")
    assert told.code == 0
    assert "web1 can be used" in told.out
    again = cli.refused("host", "add", "web1", *reaching(sshd))
    assert "enrolled already" in again["reason"]
    assert cli.json("host", "remove", "web1")["details"] == {"name": "web1"}
    assert "'web1' is not enrolled" in cli.refused("host", "show", "web1")["reason"]
    assert cli.json("host", "list")["details"]["hosts"] == []
    assert "no host is enrolled" in cli("host", "list").out


def test_this_machine_can_be_enrolled_under_a_name(cli: Cli) -> None:
    assert cli.json("host", "add", "here", "--local")["details"]["name"] == "here"
    assert cli.json("host", "check", "here")["details"]["report"]["runs_commands"] is True
    assert cli.json("host", "check", "localhost")["details"]["report"]["runs_commands"] is True


def test_what_should_be_known_of_a_host_is_a_warning(cli: Cli, sshd_factory: SshServers) -> None:
    server = sshd_factory("MaxSessions 1")
    cli.json("host", "add", "web1", *reaching(server))
    checked = cli.json("host", "check", "web1")
    assert checked["ok"] is True
    (problem,) = checked["details"]["report"]["problems"]
    assert problem["family"] == "notice"
    assert "set MaxSessions 10" in problem["reason"]
    told = cli("host", "check", "web1")
    assert told.code == 0
    assert "set MaxSessions 10" in " ".join((told.out + told.err).split())


def test_what_is_missing_is_named(cli: Cli, sshd: SshServer, tmp_path: Path) -> None:
    missing = cli.refused("host", "add", "web1", *reaching(sshd, tmp_path / "no-such-key"))
    assert f"there is no key file {tmp_path / 'no-such-key'}" in missing["reason"]
    assert "--user is needed" in cli.refused("host", "add", "web1")["reason"]
    assert "--key is needed" in cli.refused("host", "add", "web1", "--user", "x")["reason"]
    assert "not a valid host name" in cli.refused("host", "add", "a b", "--local")["reason"]


def test_a_port_where_nobody_listens(cli: Cli, sshd: SshServer) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = reaching(sshd)
    options[3] = port
    answer = cli.refused("host", "add", "web1", *options, code=4)
    assert answer["stage"] == "connect"
    assert str(port) in answer["reason"]


def test_a_key_that_is_not_let_in(cli: Cli, sshd: SshServer) -> None:
    before = cli.everything()
    answer = cli.json("host", "add", "web1", *reaching(sshd, sshd.other_key_path), code=2)
    assert answer["stage"] == "authenticate"
    assert answer["next_step_cmd"]
    assert cli.everything() == before
    told = cli("host", "add", "web1", *reaching(sshd, sshd.other_key_path))
    assert told.code == 2
    assert "at stage: authenticate" in told.err
    assert answer["reason"] in told.err


def test_a_host_that_shows_another_key_than_before(cli: Cli, sshd_factory: SshServers) -> None:
    server = sshd_factory()
    cli.json("host", "add", "web1", *reaching(server))
    server.change_host_key()
    server.restart()
    answer = cli.json("host", "check", "web1", code=2)
    assert answer["stage"] == "host_key"
    assert answer["next_step_cmd"]
    assert "no longer" in answer["reason"] or "key" in answer["reason"]
    cli.refused("host", "add", "web1", *reaching(server))
    anew = cli.json("host", "add", "web1", *reaching(server), "--replace-host-key")
    assert anew["details"]["report"]["runs_commands"] is True
    assert cli.json("host", "check", "web1")["ok"] is True


def test_a_host_key_that_was_named_beforehand_is_the_only_one(cli: Cli, sshd: SshServer) -> None:
    other = cli.refused("host", "add", "web1", *reaching(sshd), "--accept-host-key", "SHA256:no")
    assert other["stage"] == "host_key"
    told = other["reason"]
    shown = told[told.index("SHA256:") :].split(",")[0]
    added = cli.json("host", "add", "web1", *reaching(sshd), "--accept-host-key", shown)
    assert added["details"]["fingerprint"] == shown


@pytest.mark.parametrize(
    ("address", "near"),
    [
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("::1", True),
        ("localhost", True),
        ("127.0.0.1.example.org", False),
        ("127.example.org", False),
        ("10.0.0.5", False),
    ],
)
def test_nobody_but_a_person_accepts_the_key_of_another_machine(address: str, near: bool) -> None:
    """Without a terminal only this machine's own addresses are taken at their word."""
    told: list[str] = []

    def accept(host: Host, named: str | None = None) -> None:
        require_acceptance(host, "SHA256:x", named, None, lambda _, shown: told.append(shown))

    host = Host(name="web1", address=address, port=2222, user="me", key_path="/a key")
    if near:
        accept(host)
        assert told == ["SHA256:x"]
        return
    with pytest.raises(Rejected) as caught:
        accept(host)
    assert command_line(caught.value.next_step) == (
        f"replan host add web1 --address {address} --port 2222 --user me --key '/a key'"
        " --accept-host-key SHA256:x"
    )
    accept(host, "any")
    with pytest.raises(Misconfigured):
        accept(replace(host, name="web2"), "SHA256:y")
    assert told == []


def test_a_host_behind_another_is_enrolled_and_used(
    working: Cli, sshd_factory: SshServers, tmp_path: Path
) -> None:
    outer, inner = sshd_factory(), sshd_factory()
    working.json("host", "add", "bastion", *reaching(outer))
    working.json("host", "add", "web1", *reaching(inner), "--jump", "bastion")
    assert "through bastion" in working("host", "list").out
    assert working.json("host", "check", "web1")["details"]["report"]["runs_commands"] is True
    plan = tmp_path / "plan.yaml"
    plan.write_text("steps:\n  - title: s\n    subtasks:\n      - run: echo $REPLAN_TEST_SERVER\n")
    ref = working.json("task", "submit", "--plan", plan, "--host", "web1", "--wait")["details"][
        "ref"
    ]
    shown = working.json("attempt", "show", f"{ref}.1.1")["details"]
    assert shown["stdout"].strip() == inner.token
    refused = working.refused("host", "remove", "bastion")
    assert "web1 can only be reached through bastion" in refused["reason"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--jump", "nowhere"), "through nowhere, which is not a host enrolled for SSH"),
        (("--jump", "here"), "through here, which is not a host enrolled for SSH"),
        (("--jump", "web1"), "the way to web1 leads nowhere: web1 → web1"),
        (("--password", "hunter2"), "name of a secret, '${secret:NAME}' in single quotes"),
        (("--passphrase", "${secret:}"), "--passphrase takes the name of a secret"),
        (("--sudo-password", "x"), "--sudo-password takes the name of a secret"),
    ],
)
def test_a_way_or_a_secret_that_cannot_be(
    cli: Cli, sshd: SshServer, options: tuple[str, ...], said: str
) -> None:
    cli.json("host", "add", "here", "--local")
    refused = cli.refused("host", "add", "web1", *reaching(sshd), *options)
    assert said in refused["reason"]
    assert "hunter2" not in refused["reason"]


def waited(cli: Cli, *words: object) -> str:
    """The task of a command that ends because it waits; the worker here logs beside the answer."""
    said = cli("task", *words, "--format", "min-json")
    assert said.code == 3
    return str(json.loads(said.out.splitlines()[-1])["details"]["ref"])


def test_a_host_that_shows_another_key_is_disabled_until_a_person_says_otherwise(
    working: Cli, sshd_factory: SshServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the old key is back: whoever stands between could show either."""
    # The worker in this process logs; an earlier test may have left its log on a closed stream.
    monkeypatch.setattr(logging, "raiseExceptions", False)
    server = sshd_factory()
    working.json("host", "add", "web1", *reaching(server), "--workdir", "/tmp")
    enrolled = (server.folder / "host_key").read_bytes()
    let_in = server.log.read_text().count("Accepted")
    server.change_host_key()
    server.restart()
    plan = tmp_path / "plan.yaml"
    plan.write_text("steps:\n  - title: s\n    subtasks:\n      - run: 'true'\n")
    ref = waited(working, "submit", "--plan", plan, "--host", "web1", "--wait")
    (waits,) = working.json("intervention", "list", ref)["details"]["interventions"]
    assert waits["stage"] == "host_key"
    assert "replan host add web1 --replace-host-key" in waits["commands"]
    assert "its host key has changed" in waits["reason"]
    (host,) = working.json("host", "list")["details"]["hosts"]
    assert "its host key has changed" in host["distrusted"]
    assert "disabled" in working("host", "list").out

    (server.folder / "host_key").write_bytes(enrolled)
    server.restart()
    refused = working.refused("host", "check", "web1")
    assert (refused["stage"], "is disabled" in refused["reason"]) == ("host_key", True)
    assert working("task", "resume", ref).code == 0
    waited(working, "watch", ref)
    assert server.log.read_text().count("Accepted") == let_in

    anew = working.json("host", "add", "web1", "--replace-host-key")
    assert anew["details"]["fingerprint"].startswith("SHA256:")
    (host,) = working.json("host", "list")["details"]["hosts"]
    assert (host["distrusted"], host["workdir"]) == (None, "/tmp")
    working.json("task", "resume", ref)
    assert working.json("task", "watch", ref)["details"]["phase"] == "done"
