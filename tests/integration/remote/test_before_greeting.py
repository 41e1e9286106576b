"""A connection that stops before the runner on it has said anything."""

import os
import signal
from contextlib import closing

import pytest

from tests.integration.remote.hosts import ssh_host
from tests.services.processes import descendants
from tests.services.sshd import SshServers
from workers.shells.remote import runner as runner_module
from workers.shells.remote.channels import LostError
from workers.shells.remote.pool import Pool
from workers.shells.remote.runner import Runner
from workers.shells.remote.runner_text import EXEC_LINE
from workers.shells.remote.ssh_channel import SshCarrier
from workers.shells.remote.transport import connect


def test_a_connection_that_stops_before_a_runner_has_greeted_is_lost(
    sshd_factory: SshServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody may say of the account's login shell what is true of the network."""
    monkeypatch.setattr(runner_module, "ANSWER_SECONDS", 0.5)
    server = sshd_factory()
    assert server.pid is not None
    host = ssh_host(server)
    stopped: list[int] = []
    with closing(Pool(host, lambda: connect(host), open_timeout=1.0)) as pool:
        carrier = SshCarrier(host, pool, EXEC_LINE, pool.session())
        try:
            for pid, name in descendants(server.pid):
                if name.startswith("sshd"):
                    os.kill(pid, signal.SIGSTOP)
                    stopped.append(pid)
            with pytest.raises(LostError, match="no longer moves"):
                Runner(carrier, host)
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
