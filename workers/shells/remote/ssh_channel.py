"""The connection to a runner over SSH: a session channel on a warm connection."""

from contextlib import AbstractContextManager, ExitStack

import paramiko

from shared.domain.host import Host
from workers.shells.remote.channels import LostError, NoRoomError
from workers.shells.remote.foreign_errors import translate
from workers.shells.remote.pool import Pool

_CHUNK = 65_536
_STATUS_SECONDS = 1.0
_BY_SIGNAL = 128

Session = AbstractContextManager[paramiko.Channel | None]


class SshCarrier:
    """A session channel on a warm connection of a pool.

    It executes `line`, and sends `first` before everything else, unless that is empty. Raises
    NoRoomError when the pool gives no session, Transient or Misconfigured when the host gives none.
    """

    def __init__(
        self, host: Host, pool: Pool, line: str, session: Session, first: str = ""
    ) -> None:
        self.noise = b""
        self._line = line
        self._first = first
        self._host = host
        self._pool = pool
        with ExitStack() as stack:
            channel = stack.enter_context(session)
            if channel is None:
                raise NoRoomError
            try:
                channel.exec_command(line)
            except (paramiko.SSHException, EOFError, OSError) as error:
                raise translate(error, host, stage="execute") from error
            self._channel = channel
            self._release = stack.pop_all()
        if first:
            self.send(f"{first}\n".encode())

    def send(self, data: bytes) -> None:
        """Send the bytes."""
        try:
            self._channel.settimeout(None)
            self._channel.sendall(data)
        except (OSError, EOFError, paramiko.SSHException) as error:
            raise LostError(str(error)) from error

    def receive(self, seconds: float) -> bytes:
        """The bytes that have arrived; empty after that many seconds without any."""
        channel = self._channel
        if channel.recv_stderr_ready():
            self.noise = (self.noise + channel.recv_stderr(_CHUNK))[-_CHUNK:]
        channel.settimeout(max(seconds, 0.001))
        try:
            data = channel.recv(_CHUNK)
        except TimeoutError:
            return b""
        except (OSError, EOFError, paramiko.SSHException) as error:
            raise LostError(str(error)) from error
        if not data:
            raise self._lost_error()
        return data

    def _lost_error(self) -> LostError:
        channel = self._channel
        if channel.recv_stderr_ready():
            self.noise = (self.noise + channel.recv_stderr(_CHUNK))[-_CHUNK:]
        known = channel.status_event.wait(_STATUS_SECONDS) and channel.exit_status >= 0
        code = f"exit code {channel.exit_status}" if known else "no exit code"
        return LostError(code, alone=known and channel.exit_status < _BY_SIGNAL)

    def beside(self) -> "SshCarrier":
        """Another session on the same connection, or on a new one."""
        session = self._pool.session_beside(self._channel)
        return SshCarrier(self._host, self._pool, self._line, session, self._first)

    def moves(self) -> bool:
        """Whether the server answers on the connection, if only that it opens no session."""
        return self._pool.answers(self._channel)

    def close(self) -> None:
        """Close it; the runner finishes its current command, and ends."""
        self._release.close()
