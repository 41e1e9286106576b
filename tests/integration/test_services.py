"""The services that the tests themselves stand on."""

import time
from pathlib import Path

import paramiko
import psycopg
import pytest
import redis

from tests.services.databases import plain
from tests.services.processes import marked, running
from tests.services.sshd import SshServer, SshServers


def connected(server: SshServer, key: Path | None = None) -> paramiko.SSHClient:
    """A client that trusts the server's known_hosts file alone."""
    client = paramiko.SSHClient()
    client.load_host_keys(str(server.known_hosts))
    client.connect(
        server.host,
        server.port,
        server.user,
        key_filename=str(key or server.key_path),
        allow_agent=False,
        look_for_keys=False,
        timeout=10,
    )
    return client


def said(client: paramiko.SSHClient, command: str) -> str:
    """What a command prints."""
    _, stdout, _ = client.exec_command(command, timeout=10)
    text: str = stdout.read().decode()
    return text


def test_each_test_gets_a_database_of_its_own(database_url: str) -> None:
    """Nothing that another test made is there: the table can be created."""
    with psycopg.connect(plain(database_url)) as connection:
        connection.execute("CREATE TABLE only_here (n int)")


def test_each_test_gets_a_database_of_its_own_again(database_url: str) -> None:
    """The same once more."""
    with psycopg.connect(plain(database_url)) as connection:
        connection.execute("CREATE TABLE only_here (n int)")


def test_the_broker_is_valkey_and_empty(broker_url: str) -> None:
    """The default broker of the tests is the one that `replan up` starts."""
    with redis.Redis.from_url(broker_url) as client:
        assert "valkey_version" in client.info("server")
        assert client.dbsize() == 0


def test_redis_is_genuine(redis_url: str) -> None:
    """The other broker is Redis itself, of a version that kombu accepts."""
    with redis.Redis.from_url(redis_url) as client:
        server = client.info("server")
    assert "valkey_version" not in server
    assert int(str(server["redis_version"]).split(".")[0]) >= 6


def test_an_ordinary_user_logs_in(sshd: SshServer) -> None:
    """Not root, in the home of the test, with the key and the host key that the fixture names."""
    with connected(sshd) as client:
        uid, home, here = said(client, 'id -u; echo "$HOME"; pwd').split()
    assert int(uid) != 0
    assert Path(home) == Path(here) == sshd.home


def test_another_key_is_refused(sshd: SshServer) -> None:
    """Only the client key is let in."""
    with pytest.raises(paramiko.AuthenticationException):
        connected(sshd, sshd.other_key_path)


def test_a_changed_host_key_is_noticed(sshd_factory: SshServers) -> None:
    """After `change_host_key` the line that was noted before no longer fits."""
    server = sshd_factory()
    before = server.known_hosts.read_text()
    server.change_host_key()
    server.restart()
    server.known_hosts.write_text(before)
    with pytest.raises(paramiko.BadHostKeyException):
        connected(server)


def test_a_stopped_server_drops_its_connections_but_not_its_commands(
    sshd_factory: SshServers,
) -> None:
    """`stop` is a host that cannot be reached; what runs there goes on until the test's end."""
    server = sshd_factory()
    with connected(server) as client:
        pid = int(said(client, "setsid sleep 300 >/dev/null 2>&1 </dev/null & echo $!"))
        server.stop()
        deadline = time.monotonic() + 10
        transport = client.get_transport()
        assert transport is not None
        while transport.is_active() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not transport.is_active()
    assert running(pid)
    server.start()
    with connected(server) as client:
        assert said(client, "echo again") == "again\n"
    server.close()
    assert not running(pid)
    assert marked(f"REPLAN_TEST_SERVER={server.token}") == []


def test_several_servers_run_at_once(sshd_factory: SshServers) -> None:
    """Each has its own port and host key, and lines of its own in its configuration."""
    first, second = sshd_factory(), sshd_factory("MaxSessions 1")
    assert first.port != second.port
    assert first.host_public_key != second.host_public_key
    with connected(second) as client:
        held, _, _ = client.exec_command("cat", timeout=10)
        with pytest.raises(paramiko.ChannelException):
            client.exec_command("true", timeout=10)
        held.close()


def test_sftp_works(sshd: SshServer) -> None:
    """Files can be carried over."""
    with connected(sshd) as client, client.open_sftp() as sftp:
        with sftp.open("carried", "w") as file:
            file.write("over")
        assert sftp.normalize(".") == str(sshd.home)
    assert (sshd.home / "carried").read_text() == "over"
