"""Every way to reach a host behind one door."""

from shared.domain.host import Connection, Host
from workers.ports import Shell
from workers.remote.local import LocalShell
from workers.remote.ssh import SshConnections


class HostConnections:
    """Opens shells by the host's own kind of connection, keeping warm what can be kept warm."""

    def __init__(self) -> None:
        self._ssh = SshConnections()

    def shell(self, host: Host) -> Shell:
        """See `workers.ports.Connections.shell`."""
        if host.connection is Connection.LOCAL:
            return LocalShell(host)
        return self._ssh.shell(host)

    def close(self) -> None:
        """Close every connection."""
        self._ssh.close()
