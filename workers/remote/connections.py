"""Opens shells on any host, however it is reached."""

import threading
from typing import TYPE_CHECKING

from shared.domain.host import Connection, Host
from workers.ports import Shell
from workers.remote.local import LocalShell

if TYPE_CHECKING:
    from workers.remote.ssh import SshConnections


class HostConnections:
    """The `workers.ports.Connections` of a worker; safe to use from many threads."""

    def __init__(self) -> None:
        self._ssh: SshConnections | None = None
        self._lock = threading.Lock()

    def shell(self, host: Host) -> Shell:
        """A shell on the host; see `workers.ports.Connections.shell`."""
        if host.connection is Connection.LOCAL:
            return LocalShell(host)
        return self._over_ssh().shell(host)

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            if self._ssh is not None:
                self._ssh.close()

    def _over_ssh(self) -> "SshConnections":
        with self._lock:
            if self._ssh is None:
                # paramiko is loaded by those who need it.
                from workers.remote.ssh import SshConnections

                self._ssh = SshConnections()
            return self._ssh
