"""A connection to a host through another one, its jump host."""

import paramiko

from shared.domain.host import Host
from workers.shells.remote.errors import misconfigured, transient

_PROHIBITED = 1


class Tunnel:
    """What paramiko takes for a socket: a channel of the jump host, which is left with it."""

    def __init__(self, jump: paramiko.Transport, channel: paramiko.Channel) -> None:
        self._jump = jump
        self._channel = channel

    @property
    def _closed(self) -> bool:
        """What paramiko asks a socket of the standard library by this name."""
        return self._channel.closed

    def send(self, data: bytes) -> int:
        """Send some of it; returns how much."""
        return self._channel.send(data)

    def recv(self, size: int) -> bytes:
        """What arrived, at most so much; nothing once it has ended."""
        return self._channel.recv(size)

    def settimeout(self, seconds: float | None) -> None:
        """How long sending and receiving may take."""
        self._channel.settimeout(seconds)

    def close(self) -> None:
        """End the connection to the jump host, and it with that."""
        self._jump.close()


def open_tunnel(jump: paramiko.Transport, host: Host, *, timeout: float) -> Tunnel:
    """A way to the host from where the jump host is; `jump` belongs to it from then on.

    Raises Transient when the jump host does not reach it within so many seconds, Misconfigured
    when it lets nobody through.
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
