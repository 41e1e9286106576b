"""Follows one command on its channel until it has ended, or must be ended."""

import threading

from paramiko import Channel

from workers.remote.capture import Capture, Opening
from workers.remote.waiting import Aftermath, Deadline, Stop

_CHUNK = 65_536
_CHUNKS_A_TURN = 32
_NO_STATUS = -1


class Wake(threading.Event):
    """One event for everything that can happen on a channel.

    paramiko clears the events of its buffers when they are empty, which would lose a wake-up from
    the other stream; this one is cleared by its owner alone.
    """

    def clear(self) -> None:
        """Nothing; see `rearm`."""

    def rearm(self) -> None:
        """Forget what happened so far; look at the channel after this, not before."""
        super().clear()


class _StatusEvent(threading.Event):
    """Set by paramiko once the exit status is known; wakes the follower too."""

    def __init__(self, wake: Wake) -> None:
        super().__init__()
        self._wake = wake

    def set(self) -> None:
        super().set()
        self._wake.set()


class Followed:
    """A channel on which a command is about to run, with what it has written so far."""

    def __init__(self, channel: Channel, opening: Opening, out: Capture, err: Capture) -> None:
        self.channel = channel
        self.opening = opening
        self.out = out
        self.err = err
        self._wake = Wake()
        self._aftermath = Aftermath()
        channel.status_event = _StatusEvent(self._wake)
        channel.in_buffer.set_event(self._wake)
        channel.in_stderr_buffer.set_event(self._wake)

    @property
    def exit_code(self) -> int | None:
        """The exit code, None while it is unknown."""
        status = self.channel.exit_status
        return None if status == _NO_STATUS else status

    def until(self, deadline: Deadline) -> Stop:
        """Read both streams until the command has ended or the deadline has passed."""
        while True:
            self._wake.rearm()
            more = self._read()
            stop = self._ended()
            if stop is None and not self._aftermath.begun:
                stop = deadline.passed()
            if stop is not None:
                return stop
            if not more:
                begun = self._aftermath.begun
                self._wake.wait(self._aftermath.patience() if begun else deadline.patience())

    def _read(self) -> bool:
        """Take what has arrived; True when there may be more at once."""
        channel = self.channel
        for _ in range(_CHUNKS_A_TURN):
            idle = True
            if channel.recv_ready():
                self.out.take(self.opening.take(channel.recv(_CHUNK)))
                idle = False
            if channel.recv_stderr_ready():
                self.err.take(channel.recv_stderr(_CHUNK))
                idle = False
            if idle:
                return False
            self._aftermath.heard()
        return True

    def _ended(self) -> Stop | None:
        channel = self.channel
        # In this order: a status that came before the close must not be overlooked.
        closed = channel.closed and channel.status_event.is_set()
        if self.exit_code is None:
            return Stop.LOST if closed else None
        if closed or channel.eof_received:
            return None if self._unread() else Stop.EXITED
        return Stop.HELD if self._aftermath.over() else None

    def _unread(self) -> bool:
        return self.channel.recv_ready() or self.channel.recv_stderr_ready()
