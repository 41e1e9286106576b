"""A runner that becomes root by sudo: here a stand-in for it, as unlike as need be.

It takes the options that are used, asks for a password as sudo does (byte by byte, from standard
input), and writes down that it was asked. What it does not do is change the account.
"""

import os
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from shared.domain.errors import Misconfigured
from tests.integration.remote.hosts import ssh_host
from tests.services.accounts import Account
from tests.services.sshd import SshServer, SshServers
from workers.shells.ports import Call
from workers.shells.remote.connections import HostConnections

WORD = "let me 'in' $(please)"

SUDO = r"""#!/bin/sh
quiet=
while :; do
  case $1 in
  -n) quiet=1 ;;
  -S | -H) ;;
  -p) shift ;;
  *) break ;;
  esac
  shift
done
if [ -e 'FOLDER/password' ]; then
  [ -z "$quiet" ] || { echo 'sudo: a password is required' >&2; exit 1; }
  IFS= read -r given
  wanted=$(cat 'FOLDER/password')
  [ "$given" = "$wanted" ] || { echo 'sudo: 1 incorrect password attempt' >&2; exit 1; }
fi
echo "$*" >>'FOLDER/ledger'
AS_ROOT=1
export AS_ROOT
HOW
"""


@dataclass
class Sudo:
    """A server whose accounts find the stand-in."""

    server: SshServer
    folder: Path

    def asks(self, word: str) -> None:
        """From now on a password is asked for."""
        (self.folder / "password").write_text(word)

    @property
    def asked(self) -> list[str]:
        """What it was asked to run."""
        ledger = self.folder / "ledger"
        return ledger.read_text().splitlines() if ledger.exists() else []


@pytest.fixture(params=['exec "$@"', '"$@"'], ids=["in its place", "as its child"])
def sudo(
    request: pytest.FixtureRequest,
    sshd_factory: SshServers,
    ssh_account: Account,
    tmp_path_factory: pytest.TempPathFactory,
) -> Sudo:
    """As sudo runs a command: in its own place, or as a child of its own session."""
    folder = ssh_account.home / f"sudo-{tmp_path_factory.mktemp('sudo').name}"
    folder.mkdir()
    program = folder / "sudo"
    program.write_text(SUDO.replace("HOW", request.param).replace("FOLDER", str(folder)))
    program.chmod(0o755)
    os.chown(folder, ssh_account.uid, -1)
    return Sudo(sshd_factory(f"SetEnv PATH={folder}:/usr/bin:/bin"), folder)


def reveal(name: str) -> str:
    """A vault of one secret."""
    assert name == "ROOT"
    return WORD


def test_commands_run_as_root_where_no_password_is_asked(sudo: Sudo) -> None:
    """The runner alone passes through sudo, once for many commands."""
    with closing(HostConnections()) as connections:
        shell = connections.shell(ssh_host(sudo.server, sudo=True))
        for _ in range(3):
            assert shell.run(Call('test "$AS_ROOT" = 1', 20)).ok
        assert len(sudo.asked) <= 2
        ended = shell.run(Call("sleep 60", 0.3))
        assert ended.timed_out
        assert ended.signal is not None


def test_a_password_comes_from_the_vault(sudo: Sudo) -> None:
    """It is asked for, or not any more: the runner's text is never taken for it."""
    host = ssh_host(sudo.server, sudo=True, sudo_password="${secret:ROOT}")
    for word in (WORD, None):
        if word is not None:
            sudo.asks(word)
        else:
            (sudo.folder / "password").unlink()
        with closing(HostConnections(reveal)) as connections:
            shell = connections.shell(host)
            told = shell.run(Call('echo "$AS_ROOT"; cat /proc/[0-9]*/cmdline | grep -c "in$"', 20))
            assert told.stdout.startswith(b"1\n")
            assert WORD.encode() not in told.stdout


def test_a_wrong_password_is_told_and_not_shown(sudo: Sudo) -> None:
    sudo.asks("another one")
    host = ssh_host(sudo.server, sudo=True, sudo_password="${secret:ROOT}")
    with closing(HostConnections(reveal)) as connections, pytest.raises(Misconfigured) as told:
        connections.shell(host).run(Call("true", 20))
    assert "incorrect password" in told.value.reason
    assert "${secret:ROOT}" in told.value.reason
    assert WORD not in told.value.reason


def test_no_password_where_one_is_wanted_is_told(sudo: Sudo) -> None:
    sudo.asks(WORD)
    with closing(HostConnections()) as connections, pytest.raises(Misconfigured) as told:
        connections.shell(ssh_host(sudo.server, sudo=True)).run(Call("true", 20))
    assert "a password is required" in told.value.reason
