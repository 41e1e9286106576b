"""Hosts behind others: two real servers, each known by its key."""

from contextlib import closing

import pytest

from shared.domain.errors import Misconfigured, Transient
from shared.domain.host import Host
from shared.domain.next_step import command_line
from tests.integration.remote.hosts import eventually, ssh_host
from tests.services.processes import descendants
from tests.services.sshd import SshServer, SshServers
from workers.shells.ports import Call
from workers.shells.remote.connections import HostConnections
from workers.shells.remote.enrol import check_host, fetch_host_key
from workers.shells.remote.hostkeys import WrongHostKey


def behind(inner: SshServer, jump: Host, **changes: object) -> Host:
    """A host that is reached through that one."""
    return ssh_host(inner, jump=jump.name, via=jump, **changes)


@pytest.fixture
def outer(sshd_factory: SshServers) -> SshServer:
    return sshd_factory()


@pytest.fixture
def inner(sshd_factory: SshServers) -> SshServer:
    return sshd_factory()


def test_a_command_runs_on_the_host_behind(
    inner: SshServer, outer: SshServer, connections: HostConnections
) -> None:
    """Both have let us in with their own keys, and the command ran on the inner one."""
    host = behind(inner, ssh_host(outer, name="bastion"))
    shell = connections.shell(host)
    done = shell.run(Call("echo $REPLAN_TEST_SERVER; head -c 300000 /dev/zero | wc -c", 30))
    assert done.stdout.split() == [inner.token.encode(), b"300000"]
    assert "Accepted publickey" in outer.log.read_text()
    assert "Accepted publickey" in inner.log.read_text()


def test_a_host_two_jumps_away(
    inner: SshServer, outer: SshServer, sshd: SshServer, connections: HostConnections
) -> None:
    host = behind(inner, behind(sshd, ssh_host(outer, name="first"), name="second"))
    done = connections.shell(host).run(Call("echo $REPLAN_TEST_SERVER", 30))
    assert done.stdout.strip() == inner.token.encode()


def test_it_can_be_looked_at_and_enrolled(inner: SshServer, outer: SshServer) -> None:
    jump = ssh_host(outer, name="bastion")
    key = fetch_host_key(inner.host, inner.port, via=jump)
    assert key.line == inner.host_public_key
    report = check_host(behind(inner, jump))
    assert report.ok
    assert report.host_key == str(key)


def test_the_key_of_the_jump_host_is_pinned_as_well(
    inner: SshServer, outer: SshServer, connections: HostConnections
) -> None:
    """And it is the jump host that is named, not the one behind it."""
    host = behind(inner, ssh_host(outer, name="bastion"))
    outer.change_host_key()
    outer.restart()
    with pytest.raises(WrongHostKey) as caught:
        connections.shell(host)
    assert caught.value.host == "bastion"
    assert command_line(caught.value.next_step) == "replan host add bastion --replace-host-key"
    assert "Accepted" not in inner.log.read_text()


def test_somebody_at_the_jump_host_cannot_stand_in_for_the_one_behind(
    inner: SshServer, outer: SshServer, connections: HostConnections
) -> None:
    host = behind(inner, ssh_host(outer, name="bastion"))
    inner.change_host_key()
    inner.restart()
    with pytest.raises(WrongHostKey) as caught:
        connections.shell(host)
    assert caught.value.host == "web1"


def test_a_jump_host_that_lets_nobody_through(
    inner: SshServer, sshd_factory: SshServers, connections: HostConnections
) -> None:
    outer = sshd_factory("AllowTcpForwarding no")
    with pytest.raises(Misconfigured, match="bastion lets nobody through") as caught:
        connections.shell(behind(inner, ssh_host(outer, name="bastion")))
    assert caught.value.stage == "connect"


def test_a_host_behind_that_is_down(
    inner: SshServer, outer: SshServer, connections: HostConnections
) -> None:
    inner.stop()
    with pytest.raises(Transient, match="bastion does not reach it") as caught:
        connections.shell(behind(inner, ssh_host(outer, name="bastion")))
    assert caught.value.stage == "connect"
    inner.start()
    host = behind(inner, ssh_host(outer, name="bastion"))
    assert connections.shell(host).run(Call("true", 30)).ok


def test_a_jump_host_that_is_down(
    inner: SshServer, outer: SshServer, connections: HostConnections
) -> None:
    host = behind(inner, ssh_host(outer, name="bastion"))
    outer.stop()
    with pytest.raises(Transient, match="bastion"):
        connections.shell(host)


def test_the_way_ends_with_the_connection(inner: SshServer, outer: SshServer) -> None:
    """Closing lets go of the jump host as well."""
    with closing(HostConnections()) as connections:
        connections.shell(behind(inner, ssh_host(outer, name="bastion")))
        assert sessions(outer)
    assert eventually(lambda: not sessions(outer))


def sessions(server: SshServer) -> list[int]:
    """The processes that serve its connections."""
    assert server.pid is not None
    return [pid for pid, name in descendants(server.pid) if name.startswith("sshd")]
