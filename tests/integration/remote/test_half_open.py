"""Connections whose other end no longer answers, although what is sent is acknowledged."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

from tests.integration.remote.hosts import eventually, ssh_host
from tests.services.processes import marked
from tests.services.proxy import Direction, Proxy
from tests.services.sshd import SshServer
from workers.shells.ports import Call
from workers.shells.remote.ssh import SshConnections
from workers.shells.remote.transport import Timing, connect

SOON_LOST = Timing(keepalive=0.2, answer=1.0, banner=1.0)


def test_a_connection_that_is_acknowledged_and_never_answered_is_lost(sshd: SshServer) -> None:
    """As by a proxy or a jump host that can no longer deliver; the command goes on."""
    with (
        Proxy(sshd.port) as link,
        closing(SshConnections(SOON_LOST)) as connections,
        ThreadPoolExecutor(1) as threads,
    ):
        shell = connections.shell(ssh_host(sshd, port=link.port))
        assert shell.run(Call("echo before", 20)).stdout == b"before\n"
        running_on = threads.submit(shell.run, Call("echo begun; sleep 3; echo done", 20))
        assert eventually(lambda: "sleep 3" in " ".join(commands_of(sshd)))
        link.swallow(new=False)
        assert running_on.result(timeout=15).stdout == b"begun\ndone\n"


def commands_of(server: SshServer) -> list[str]:
    """The command lines of what runs on the host."""
    found = []
    for pid in marked(f"REPLAN_TEST_SERVER={server.token}"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            found.append(Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " "))
    return found


def test_a_connection_that_is_idle_is_asked_and_stays(sshd: SshServer) -> None:
    with Proxy(sshd.port) as link:
        host = ssh_host(sshd, port=link.port)
        with closing(connect(host, Timing(keepalive=0.1, answer=1.5))) as transport:
            assert not eventually(lambda: not transport.is_active(), within=2.5)
            link.swallow(Direction.TO_CLIENT)
            assert eventually(lambda: not transport.is_active(), within=20.0)
