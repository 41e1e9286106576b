"""One way to a shell, however the host is reached."""

import subprocess
import sys
from contextlib import closing
from dataclasses import replace

from shared.domain.host import LOCALHOST
from tests.integration.remote.hosts import ssh_host
from tests.services.sshd import SshServer
from workers.shells.ports import Call
from workers.shells.remote.connections import HostConnections

LOCAL_ONLY = """
import sys
import workers.shells.remote.enrol
from shared.domain.host import LOCALHOST
from workers.shells.ports import Call
from workers.shells.remote.connections import HostConnections
connections = HostConnections()
assert connections.shell(LOCALHOST).run(Call("true", 20)).ok
print("paramiko" in sys.modules)
"""


def test_the_host_decides_how_it_is_reached(sshd: SshServer) -> None:
    """This machine and another side by side."""
    with closing(HostConnections()) as connections:
        here = connections.shell(LOCALHOST).run(Call('echo "${SSH_CONNECTION:-none}"', 20))
        there = connections.shell(ssh_host(sshd)).run(Call('echo "$SSH_CONNECTION"', 20))

    assert here.stdout == b"none\n"
    assert there.stdout.startswith(b"127.0.0.1 ")


def test_a_worker_of_this_machine_alone_loads_no_ssh() -> None:
    """Starting quickly counts where nothing is remote."""
    done = subprocess.run(
        [sys.executable, "-c", LOCAL_ONLY], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def test_every_folder_of_a_host_shares_its_connections(sshd: SshServer) -> None:
    """A workspace is a folder of its own, and there are as many as there are steps."""
    said: list[list[str]] = []
    with closing(HostConnections()) as connections:
        for folder in ("/usr", "/usr/share"):
            shell = connections.shell(replace(ssh_host(sshd), workdir=folder))
            done = shell.run(Call('pwd; echo "$SSH_CONNECTION"', 20))
            shell.close()
            said.append(done.stdout.decode().splitlines())
    (one, over), (two, also_over) = said
    assert (one, two) == ("/usr", "/usr/share")
    assert over == also_over
