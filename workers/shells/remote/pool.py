"""The warm connections to one host; several commands share each of them."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import paramiko

from shared.domain.errors import ReplanError, Transient
from shared.domain.host import Host
from workers.passes.ports import Cancelled
from workers.shells.remote.errors import transient
from workers.shells.remote.foreign_errors import translate
from workers.shells.remote.waiting import POLL_SECONDS

CHANNELS_EACH = 5
"""Parallel commands on one connection; sshd allows 10 sessions, and frees them late."""

CONNECTIONS_AT_MOST = 4
"""The most connections to one host."""

SLOT_SECONDS = 60.0
"""How long a command waits for a free session before it is postponed."""

_REFUSALS_AT_MOST = 8
_REGAIN_AFTER = 100

Connect = Callable[[], paramiko.Transport]


class PooledConnection:
    """One connection and its sessions; `limit` is how many sessions the host has allowed so far."""

    def __init__(self, transport: paramiko.Transport) -> None:
        self.transport = transport
        self.limit = CHANNELS_EACH
        self.in_use = 0
        self._opened = 0

    def alive(self) -> bool:
        """False once the connection is known to be lost."""
        return self.transport.is_active()

    def has_room(self) -> bool:
        """True if another command may start on it."""
        return self.in_use < self.limit and self.alive()

    def count_session(self) -> None:
        """Count a session that the host gave; after many of them, raise the limit by one."""
        self._opened += 1
        if self._opened % _REGAIN_AFTER == 0 and self.limit < CHANNELS_EACH:
            self.limit += 1

    def lower_limit(self) -> None:
        """Note that the host gave no session: it allows only as many as are open now."""
        self.limit = max(1, self.in_use - 1)


class Pool:
    """Opens sessions on connections to one host; safe to use from many threads."""

    def __init__(self, host: Host, connect: Connect, *, open_timeout: float) -> None:
        self._last_used = time.monotonic()
        self._host = host
        self._connect = connect
        self._open_timeout = open_timeout
        self._connections: list[PooledConnection] = []
        self._opening = False
        self._failures = 0
        self._last_failure: BaseException | None = None
        self._closed = False
        self._changed = threading.Condition()

    def warm_up(self) -> None:
        """Make sure that a connection is open; raises what connecting raises."""
        with self._changed:
            if any(connection.alive() for connection in self._connections):
                return
        self._give_back(self._take(None))

    @contextmanager
    def session(self, cancelled: Cancelled | None = None) -> Iterator[paramiko.Channel | None]:
        """A new session channel, closed at the end; None if `cancelled` came first.

        If the host refuses a session, the pool asks again, on another connection if necessary; if
        a connection has died, it opens a new one. Nothing runs before this returns, so all of it
        is safe to repeat. Raises Transient or Misconfigured.
        """
        connection, channel = self._open(cancelled)
        try:
            yield channel
        finally:
            if channel is not None:
                _close(channel)
            if connection is not None:
                self._give_back(connection)

    @contextmanager
    def session_beside(self, channel: paramiko.Channel) -> Iterator[paramiko.Channel]:
        """Another session at once, however many are open: to end what runs on `channel`.

        It is on the same connection if possible, otherwise on a new one. Raises Transient or
        Misconfigured.
        """
        own: paramiko.Transport | None = None
        try:
            try:
                beside = channel.get_transport().open_session(timeout=self._open_timeout)
            except (paramiko.SSHException, EOFError, OSError):
                own = self._connect()
                beside = self._first_session(own)
            try:
                yield beside
            finally:
                _close(beside)
        finally:
            if own is not None:
                own.close()

    def answers(self, channel: paramiko.Channel) -> bool:
        """Whether the server still answers on the connection of a session."""
        try:
            _close(channel.get_transport().open_session(timeout=self._open_timeout))
        except (paramiko.SSHException, EOFError, OSError) as error:
            return _is_refusal(error)
        return True

    def cool_down(self, after: float) -> None:
        """Close the connections if no command has used them for that many seconds."""
        with self._changed:
            busy = self._opening or any(connection.in_use for connection in self._connections)
            if busy or time.monotonic() - self._last_used < after:
                return
            connections, self._connections = self._connections, []
        for connection in connections:
            connection.transport.close()

    def close(self) -> None:
        """Close every connection; commands that run on them are lost."""
        with self._changed:
            self._closed = True
            connections, self._connections = self._connections, []
            self._changed.notify_all()
        for connection in connections:
            connection.transport.close()

    def _open(
        self, cancelled: Cancelled | None
    ) -> tuple[PooledConnection | None, paramiko.Channel | None]:
        refusals = 0
        while True:
            connection = self._take(cancelled)
            if connection is None:
                return None, None
            try:
                channel = connection.transport.open_session(timeout=self._open_timeout)
            except (paramiko.SSHException, EOFError, OSError) as error:
                refusals += 1
                self._note_refusal(connection, error)
                failed = translate(error, self._host, stage="channel")
                if refusals > _REFUSALS_AT_MOST or not isinstance(failed, Transient):
                    raise failed from error
            except BaseException:
                self._give_back(connection)
                raise
            else:
                connection.count_session()
                return connection, channel

    def _first_session(self, transport: paramiko.Transport) -> paramiko.Channel:
        try:
            return transport.open_session(timeout=self._open_timeout)
        except (paramiko.SSHException, EOFError, OSError) as error:
            raise translate(error, self._host, stage="channel") from error

    def _note_refusal(self, connection: PooledConnection, error: Exception) -> None:
        with self._changed:
            connection.lower_limit()
            if not _is_refusal(error):
                # No answer, or no connection: start nothing more on it.
                self._forget(connection)
        alone = connection.in_use == 1
        self._give_back(connection)
        if alone and connection.alive():
            # The host still counts sessions that have just closed.
            with self._changed:
                self._changed.wait(POLL_SECONDS / 2)

    def _take(self, cancelled: Cancelled | None) -> PooledConnection | None:
        give_up_at = time.monotonic() + SLOT_SECONDS
        failures = self._failures
        while True:
            with self._changed:
                connection = self._free_connection()
                if connection is not None:
                    connection.in_use += 1
                    return connection
                if self._failures > failures and self._last_failure is not None:
                    # All who waited for that connection fail with it, or each would wait again.
                    raise self._last_failure
                may_open = not self._opening and len(self._connections) < CONNECTIONS_AT_MOST
                if may_open:
                    self._opening = True
                else:
                    self._changed.wait(POLL_SECONDS)
            if may_open:
                return self._new_connection()
            if cancelled is not None and cancelled():
                return None
            if time.monotonic() > give_up_at:
                raise self._busy_error()

    def _free_connection(self) -> PooledConnection | None:
        if self._closed:
            raise self._closed_error()
        for dead in [connection for connection in self._connections if not connection.alive()]:
            self._connections.remove(dead)
        rooms = [connection for connection in self._connections if connection.has_room()]
        return min(rooms, key=lambda connection: connection.in_use, default=None)

    def _new_connection(self) -> PooledConnection:
        try:
            connection = PooledConnection(self._connect())
        except BaseException as error:
            with self._changed:
                self._opening = False
                self._failures += 1
                self._last_failure = error
                self._changed.notify_all()
            raise
        connection.in_use = 1
        with self._changed:
            self._opening = False
            if not self._closed:
                self._connections.append(connection)
            self._changed.notify_all()
        if self._closed:
            connection.transport.close()
            raise self._closed_error()
        return connection

    def _give_back(self, connection: PooledConnection | None) -> None:
        if connection is None:
            return
        with self._changed:
            connection.in_use -= 1
            self._last_used = time.monotonic()
            forgotten = connection not in self._connections
            self._changed.notify()
        if forgotten and not connection.in_use:
            connection.transport.close()

    def _forget(self, connection: PooledConnection) -> None:
        if connection in self._connections:
            self._connections.remove(connection)

    def _closed_error(self) -> ReplanError:
        return transient(self._host, "the connections were closed", stage="connect")

    def _busy_error(self) -> ReplanError:
        return transient(self._host, "every connection to it is in use", stage="channel")


def _is_refusal(error: Exception) -> bool:
    # If two threads are refused at once, paramiko gives the reason to only one of them.
    return isinstance(error, paramiko.ChannelException) or "Unable to open channel" in str(error)


def _close(channel: paramiko.Channel) -> None:
    """Close a session; if that fails, the connection is already gone."""
    with suppress(paramiko.SSHException, EOFError, OSError):
        channel.close()
