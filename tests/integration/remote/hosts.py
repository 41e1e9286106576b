"""Hosts as an inventory would name the test servers, and waiting for what happens there."""

import time
from collections.abc import Callable
from dataclasses import replace

from shared.domain.host import ConnectionKind, Host
from tests.services.sshd import SshServer


def ssh_host(server: SshServer, **changes: object) -> Host:
    """The server as an enrolled host, with some fields changed."""
    host = Host(
        name="web1",
        connection=ConnectionKind.SSH,
        address=server.host,
        port=server.port,
        user=server.user,
        key_path=str(server.key_path),
        host_key=server.host_public_key,
    )
    return replace(host, **changes)  # type: ignore[arg-type]


def eventually(condition: Callable[[], bool], *, within: float = 5.0) -> bool:
    """Whether it becomes true in time."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
