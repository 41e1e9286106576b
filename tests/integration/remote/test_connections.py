"""How connections are opened, shared, lost and opened again: on a real SSH server."""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import paramiko
import pytest

from shared.domain.attempt import CommandResult
from shared.domain.errors import Misconfigured, Transient
from shared.domain.next_step import command_line
from tests.integration.remote.hosts import eventually, ssh_host
from tests.services.processes import descendants, kill, running
from tests.services.sshd import SshServer, SshServers
from workers.shells.ports import Call
from workers.shells.remote.pool import Pool
from workers.shells.remote.ssh import SshConnections
from workers.shells.remote.transport import Timing, connect

IMPATIENT = Timing(open_session=1.0)


def sessions(server: SshServer) -> list[int]:
    """The processes of the server that hold its connections."""
    assert server.pid is not None
    return [pid for pid, name in descendants(server.pid) if name.startswith("sshd")]


def logins(server: SshServer) -> int:
    """How often somebody has logged in."""
    return server.log.read_text().count("Accepted publickey")


# --- giving up ------------------------------------------------------------------------------------


def test_a_session_ends_without_a_word_on_a_connection_that_breaks(sshd: SshServer) -> None:
    """To close it takes a message, for which the connection may be too broken by then."""
    host, timing = ssh_host(sshd), Timing()
    with closing(Pool(host, lambda: connect(host, timing), open_timeout=10)) as pool:
        with pool.session() as channel:
            assert channel is not None
            with pool.session_beside(channel):
                broken(channel)
        with pool.session() as another:
            assert another is not None


def test_a_shell_that_is_killed_at_its_start_says_nothing_of_the_account(
    sshd_factory: SshServers, connections: SshConnections
) -> None:
    """Something killed it, as it may kill any process; another one may fare better."""
    shell = connections.shell(ssh_host(sshd_factory("ForceCommand kill -9 $$")))
    with pytest.raises(Transient, match="lost again and again"):
        shell.run(Call("true", 20))


def broken(channel: paramiko.Channel) -> None:
    """Nothing can be sent any more, but nobody has noticed yet."""
    raw = channel.get_transport().sock
    assert isinstance(raw, socket.socket)
    raw.shutdown(socket.SHUT_WR)


# --- sharing --------------------------------------------------------------------------------------


def test_one_connection_serves_many_commands(
    sshd_factory: SshServers, connections: SshConnections
) -> None:
    """A connection stays warm from command to command and from shell to shell."""
    server = sshd_factory()
    for number in range(5):
        shell = connections.shell(ssh_host(server))
        assert shell.run(Call(f"echo {number}", 20)).ok
        assert shell.run(Call("true", 20)).ok
        shell.close()

    assert logins(server) == 1


@pytest.mark.parametrize("allowed", ["MaxSessions 10", "MaxSessions 2", "MaxSessions 1"])
def test_many_threads_share_few_connections(
    sshd_factory: SshServers, connections: SshConnections, allowed: str
) -> None:
    """However few sessions the host allows on a connection, every command runs."""
    server = sshd_factory(allowed)

    def run(number: int) -> CommandResult:
        with closing(connections.shell(ssh_host(server))) as shell:
            return shell.run(Call(f"sleep 0.05; echo {number}", 60))

    with ThreadPoolExecutor(12) as threads:
        results = list(threads.map(run, range(48)))

    assert [int(result.stdout) for result in results] == list(range(48))
    assert logins(server) <= 4


def test_a_command_can_be_ended_where_only_one_session_is_allowed(
    sshd_factory: SshServers, connections: SshConnections
) -> None:
    """Ending it takes a second session: on a connection of its own, if need be."""
    server = sshd_factory("MaxSessions 1")
    result = connections.shell(ssh_host(server)).run(Call("echo $$; sleep 300", 0.5))

    assert result.timed_out
    assert eventually(lambda: not running(int(result.stdout)))


def test_a_host_that_is_busy_with_logins_is_asked_again(sshd_factory: SshServers) -> None:
    """A server hangs up on some when many log in at once; none of them notices."""
    server = sshd_factory("MaxStartups 2:80:8")
    host = ssh_host(server)

    def log_in(_: int) -> bool:
        with closing(connect(host, Timing(tries=12))) as transport:
            return transport.is_authenticated()

    with ThreadPoolExecutor(12) as threads:
        assert all(threads.map(log_in, range(12)))
    assert "drop connection" in server.log.read_text()


def test_closing_leaves_no_thread_behind(sshd: SshServer) -> None:
    """Every connection has a thread; none outlives its connection for long."""
    before = set(threading.enumerate())
    connections = SshConnections()
    connections.shell(ssh_host(sshd)).run(Call("true", 20))
    assert set(threading.enumerate()) - before
    connections.close()

    assert eventually(lambda: not set(threading.enumerate()) - before)


def test_a_shell_that_was_closed_for_good_says_so(sshd: SshServer) -> None:
    """After `SshConnections.close` nothing is opened any more behind the owner's back."""
    connections = SshConnections()
    shell = connections.shell(ssh_host(sshd))
    connections.close()

    with pytest.raises(Transient, match="closed"):
        shell.run(Call("true", 20))


# --- losing ---------------------------------------------------------------------------------------


def test_a_connection_lost_in_the_middle_of_a_command_is_transient(
    sshd_factory: SshServers, connections: SshConnections
) -> None:
    """Its outcome is unknown: neither a result nor an exit code is made up."""
    server = sshd_factory()
    shell = connections.shell(ssh_host(server))

    with pytest.raises(Transient, match="may still run") as caught:
        shell.run(Call("echo begun; sleep 60", 60), on_output=lambda *_: kill(sessions(server)))

    assert caught.value.stage == "execute"
    assert command_line(caught.value.next_step) == "replan host check web1"


def test_the_next_command_opens_a_lost_connection_again(
    sshd_factory: SshServers, connections: SshConnections
) -> None:
    """The same shell goes on."""
    server = sshd_factory()
    shell = connections.shell(ssh_host(server))
    assert shell.run(Call("true", 20)).ok
    kill(sessions(server))
    assert shell.run(Call("echo again", 20)).stdout == b"again\n"

    server.stop()
    with pytest.raises(Transient) as caught:
        shell.run(Call("true", 20))
    assert caught.value.stage == "connect"

    server.start()
    assert shell.run(Call("echo once more", 20)).stdout == b"once more\n"
    assert logins(server) >= 1


def test_a_connection_that_hangs_does_not_save_a_command_from_its_timeout(
    sshd_factory: SshServers,
) -> None:
    """What runs on a connection that no longer moves is ended over another one."""
    server = sshd_factory()
    with closing(SshConnections(IMPATIENT)) as connections:
        shell = connections.shell(ssh_host(server))
        stopped: list[int] = []

        def freeze(*_: object) -> None:
            if not stopped:
                stopped.extend(sessions(server))
                for pid in stopped:
                    os.kill(pid, signal.SIGSTOP)

        result = shell.run(Call("echo $$; sleep 300", 0.5), on_output=freeze)

        assert result.timed_out
        assert eventually(lambda: not running(int(result.stdout)))
        assert shell.run(Call("echo moves", 20)).stdout == b"moves\n"
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)


def test_a_connection_is_made_for_short_messages(sshd: SshServer) -> None:
    """Without delay, and given up when nothing is acknowledged."""
    with closing(connect(ssh_host(sshd), Timing(dead_after=12.0))) as transport:
        used = transport.sock
        assert isinstance(used, socket.socket)
        assert used.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            assert used.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 12_000


def test_a_command_costs_little_more_than_a_bare_ssh_session(
    sshd: SshServer, connections: SshConnections
) -> None:
    """Measured side by side; 0.7 is usual, a delayed acknowledgement alone would make it 0.1."""
    host = ssh_host(sshd)
    shell = connections.shell(host)
    ratios = []
    with closing(connect(host)) as transport:

        def bare() -> None:
            with transport.open_session() as channel:
                channel.exec_command("true")
                channel.recv(1024)
                assert channel.recv_exit_status() == 0

        for _ in range(4):
            spent_bare = spent(bare, times=40)
            ratios.append(spent_bare / spent(lambda: shell.run(Call("true", 20)), times=40))

    assert max(ratios) > 0.4, ratios


def spent(act: Callable[[], object], *, times: int) -> float:
    """How many seconds it takes to do it so often."""
    act()
    began = time.perf_counter()
    for _ in range(times):
        act()
    return time.perf_counter() - began


# --- hosts that do not let us work ----------------------------------------------------------------


@contextmanager
def listener(answer: bytes | None) -> Iterator[tuple[str, int, list[socket.socket]]]:
    """Something that takes connections and is not an SSH server: it answers, or keeps silent."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                taken.append(connection)
                if answer is not None:
                    connection.sendall(answer)
                    connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        yield *server.getsockname(), taken
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
        for connection in taken:
            connection.close()


@pytest.mark.parametrize("answer", [None, b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_a_port_where_no_ssh_server_answers_is_transient(
    sshd: SshServer, answer: bytes | None
) -> None:
    """Silent, closing at once, or speaking something else: it may be on its way up."""
    with listener(answer) as (address, port, taken):
        timing = Timing(banner=0.5, tries=2, first_pause=0.01)
        with closing(SshConnections(timing)) as connections, pytest.raises(Transient) as caught:
            connections.shell(ssh_host(sshd, address=address, port=port))

    assert caught.value.stage == "connect"
    assert f"web1 ({sshd.user}@{address}:{port})" in caught.value.reason
    assert 1 <= len(taken) <= timing.tries


def test_a_port_where_nothing_listens_is_transient(
    sshd: SshServer, connections: SshConnections
) -> None:
    """The host may be starting."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    with pytest.raises(Transient, match="nothing listens") as caught:
        connections.shell(ssh_host(sshd, port=port))

    assert caught.value.stage == "connect"


@pytest.mark.parametrize(
    ("address", "port"), [("no.such.host.invalid", 22), ("", 22), ("a" * 80, 22), ("x", 70_000)]
)
def test_a_host_that_cannot_be_named_is_an_error_of_ours(
    sshd: SshServer, connections: SshConnections, address: str, port: int
) -> None:
    """Whether the name or the number is wrong: one sentence, no traceback."""
    with pytest.raises((Misconfigured, Transient)) as caught:
        connections.shell(ssh_host(sshd, address=address, port=port))

    assert caught.value.stage == "connect"
    assert command_line(caught.value.next_step) == "replan host check web1"


def test_what_a_login_shell_prints_is_no_output(
    sshd_factory: SshServers, connections: SshConnections
) -> None:
    """Greetings from start-up files come before the command's own output and are dropped."""
    server = sshd_factory()
    profile = server.home / ".bashrc"
    profile.write_text("echo WELCOME; printf 'no line break'\n")
    try:
        result = connections.shell(ssh_host(server)).run(Call("echo mine", 20))
    finally:
        profile.unlink()

    assert result.stdout == b"mine\n"


def test_an_account_that_runs_no_commands_is_the_operators_business(
    sshd_factory: SshServers, connections: SshConnections
) -> None:
    """A forced command or a nologin shell answers something else: it says what."""
    server = sshd_factory("ForceCommand echo this account is closed; exit 9")

    with pytest.raises(Misconfigured, match=r"exit code 9: this account is closed"):
        connections.shell(ssh_host(server)).run(Call("echo ran", 20))


def test_a_login_shell_that_never_gets_to_the_command_is_the_operators_business(
    sshd_factory: SshServers, connections: SshConnections
) -> None:
    """It timed out without having begun, and might begin later: that is not told as a timeout."""
    server = sshd_factory("ForceCommand sleep 300")

    with pytest.raises(Misconfigured, match="does not run /bin/sh"):
        connections.shell(ssh_host(server)).run(Call("echo ran", 0.5))


def test_a_host_without_sessions_is_not_retried_for_ever(
    sshd_factory: SshServers, connections: SshConnections
) -> None:
    """A server can let people in and give them no session."""
    server = sshd_factory("MaxSessions 0")

    with pytest.raises((Misconfigured, Transient)) as caught:
        connections.shell(ssh_host(server)).run(Call("true", 20))

    assert caught.value.stage == "channel"


def test_threads_that_wait_for_a_dead_host_do_not_wait_in_turn(sshd: SshServer) -> None:
    """They share the one failure instead of each running into the same timeout."""
    with listener(None) as (address, port, taken):
        timing = Timing(banner=1.0, tries=1)
        host = ssh_host(sshd, address=address, port=port)
        with closing(SshConnections(timing)) as connections, ThreadPoolExecutor(20) as threads:
            tried = [threads.submit(connections.shell, host) for _ in range(20)]
            assert all(isinstance(one.exception(), Transient) for one in tried)

    assert len(taken) < 10  # in turn they would make 20
