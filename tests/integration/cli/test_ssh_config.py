"""Enrolling a host as the SSH configuration of a person describes it."""

import os
import shutil
from pathlib import Path

import pytest

from tests.integration.cli.calling import Cli
from tests.services.packages import library_path, unpacked
from tests.services.sshd import SshServer, SshServers


@pytest.fixture(autouse=True)
def ssh_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program `ssh`, unpacked where it is not installed."""
    if shutil.which("ssh") is None:
        root = unpacked("openssh-client")
        monkeypatch.setenv("PATH", f"{root / 'usr/bin'}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("LD_LIBRARY_PATH", library_path(root))


def entry(name: str, server: SshServer, *more: str) -> str:
    named = (f"HostName {server.host}", f"Port {server.port}", f"User {server.user}")
    lines = (f"Host {name}", *named, f"IdentityFile {server.key_path}", *more)
    return "\n  ".join(lines) + "\n"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


def test_a_host_is_enrolled_as_its_entry_says(
    cli: Cli, sshd_factory: SshServers, config: Path, tmp_path: Path
) -> None:
    """What is given on the command line counts more; other files may be included."""
    outer, inner = sshd_factory(), sshd_factory()
    included = tmp_path / "included"
    included.write_text(entry("bastion", outer) + entry("web1", inner, "ProxyJump bastion"))
    config.write_text(f"Include {included}\n")
    for name in ("bastion", "web1"):
        cli.json("host", "add", name, "--ssh-config", config, "--workdir", "/tmp")
    bastion, web1 = cli.json("host", "list")["details"]["hosts"]
    assert (bastion["address"], bastion["port"], bastion["user"]) == (
        outer.host,
        outer.port,
        outer.user,
    )
    assert (web1["port"], web1["jump"], web1["workdir"]) == (inner.port, "bastion", "/tmp")
    assert cli.json("host", "check", "web1")["details"]["report"]["runs_commands"] is True
    again = (
        "bastion",
        "--replace-host-key",
        "--ssh-config",
        config,
        "--port",
        inner.port,
        "--no-check",
    )
    cli.json("host", "add", *again)
    bastion, _ = cli.json("host", "list")["details"]["hosts"]
    assert bastion["port"] == inner.port


def test_of_many_keys_the_first_that_is_there_is_taken(
    cli: Cli, sshd: SshServer, config: Path, tmp_path: Path
) -> None:
    config.write_text(
        entry("web1", sshd).replace("Identity", f"IdentityFile {tmp_path}/no\n  Identity")
    )
    cli.json("host", "add", "web1", "--ssh-config", config)
    (host,) = cli.json("host", "list")["details"]["hosts"]
    assert host["key_path"] == str(sshd.key_path)


def test_the_name_of_a_key_file_may_have_tokens_and_variables(
    cli: Cli, sshd: SshServer, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a password, no key is taken."""
    key = sshd.key_path
    monkeypatch.setenv("KEYS", str(key.parent))
    told = f"${{KEYS}}/{key.name.replace('client', '%n')}"
    config.write_text(entry("client", sshd).replace(str(key), told))
    cli.json("host", "add", "client", "--ssh-config", config)
    (host,) = cli.json("host", "list")["details"]["hosts"]
    assert host["key_path"] == str(key)
    word = ("--password", "${secret:DOOR}", "--no-check")
    cli.json("host", "add", "client", "--replace-host-key", "--ssh-config", config, *word)
    config.write_text(entry("other", sshd).replace(str(key), "none"))
    refused = cli.refused("host", "add", "other", "--ssh-config", config)
    assert "--key is needed" in refused["reason"]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("Hots web1", "Bad configuration option: hots"),
        ("Host web1\n  ProxyCommand nc %h %p", "by a ProxyCommand, which replan does not run"),
        ("Host web1\n  ProxyJump ops@bastion:2222", "through ops@bastion:2222: enrol that"),
        ("Host web1\n  ProxyJump one,two", "through one,two: enrol that"),
        ("Host web1\n  ProxyJump one\n  IdentityFile config", "which is not a host enrolled"),
        ("Host web1\n  IdentityFile ~/no-such-key", "there is no key file"),
        (None, "No such file or directory"),
    ],
)
def test_an_entry_that_cannot_be_used_is_refused(
    cli: Cli, config: Path, lines: str | None, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(config.parent)
    if lines is not None:
        config.write_text(f"{lines}\n")
    assert told in cli.refused("host", "add", "web1", "--ssh-config", config)["reason"]


def test_without_the_program_ssh_the_options_are_named(
    cli: Cli, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text("Host web1\n")
    monkeypatch.setenv("PATH", str(config.parent))
    refused = cli.refused("host", "add", "web1", "--ssh-config", config)
    assert "there is no program ssh on this machine" in refused["reason"]


def test_this_machine_may_be_said_to_use_no_sudo(cli: Cli) -> None:
    assert cli.json("host", "add", "here", "--local", "--no-sudo")["details"]["name"] == "here"


@pytest.mark.parametrize("option", ["--address", "--user", "--key", "--jump", "--ssh-config"])
def test_this_machine_takes_no_option_of_ssh(cli: Cli, config: Path, option: str) -> None:
    refused = cli.refused("host", "add", "here", "--local", option, config)
    assert f"leave out {option}" in refused["reason"]
