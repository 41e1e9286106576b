"""A connection to a host through another one, its jump host."""

import paramiko

from shared.domain.host import Host
from workers.shells.remote.errors import misconfigured, transient

_PROHIBITED = 1


class Tunnel:
    """A channel of the jump host that paramiko uses as a socket; it owns the jump connection."""

    def __init__(self, jump: paramiko.Transport, channel: paramiko.Channel) -> None:
        self._jump = jump
        self._channel = channel

    @property
    def _closed(self) -> bool:
        """The attribute of a standard socket that paramiko reads."""
        return self._channel.closed

    def send(self, data: bytes) -> int:
        """Send some of the data; return how many bytes."""
        return self._channel.send(data)

    def recv(self, size: int) -> bytes:
        """The bytes that arrived, at most `size`; empty once the channel has ended."""
        return self._channel.recv(size)

    def settimeout(self, seconds: float | None) -> None:
        """Set how long sending and receiving may take, in seconds."""
        self._channel.settimeout(seconds)

    def close(self) -> None:
        """Close the connection to the jump host, and so the channel."""
        self._jump.close()


def open_tunnel(jump: paramiko.Transport, host: Host, *, timeout: float) -> Tunnel:
    """A connection to the host from its jump host; from then on, the tunnel owns `jump`.

    Raises Transient when the jump host does not reach the host within `timeout` seconds,
    Misconfigured when it lets nobody through.
    """
    name = host.jump or "its jump host"
    try:
        channel = jump.open_channel(
            "direct-tcpip", (host.address, host.port), ("127.0.0.1", 0), timeout=timeout
        )
    except paramiko.ChannelException as error:
        jump.close()
        if error.code == _PROHIBITED:
            sentence = f"{name} lets nobody through to it (AllowTcpForwarding, PermitOpen)"
            raise misconfigured(host, sentence, stage="connect") from error
        raise transient(host, f"{name} does not reach it", stage="connect") from error
    except (paramiko.SSHException, EOFError, OSError) as error:
        jump.close()
        raise transient(host, f"{name} does not reach it", stage="connect") from error
    return Tunnel(jump, channel)
