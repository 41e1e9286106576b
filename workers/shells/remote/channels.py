"""The port that carries bytes to a runner and back."""

from typing import Protocol


class LostError(Exception):
    """The connection to a runner is lost; whatever runs there goes on.

    `alone` says that the shell ended by itself: the host is connected, and nothing killed the
    shell.
    """

    def __init__(self, message: str, *, alone: bool = False) -> None:
        super().__init__(message)
        self.alone = alone


class NoRoomError(Exception):
    """No further connection opens, because an idle runner is available."""


class Carrier(Protocol):
    """A byte stream in both directions. `send` and `receive` raise LostError once it is lost."""

    noise: bytes
    """The end of what arrived on standard error."""

    def send(self, data: bytes) -> None:
        """Send the bytes."""
        ...

    def receive(self, seconds: float) -> bytes:
        """The bytes that have arrived; empty after that many seconds without any."""
        ...

    def beside(self) -> "Carrier":
        """Another connection to the same host, at once. Raises Transient or Misconfigured."""
        ...

    def moves(self) -> bool:
        """Whether the connection below still carries anything, as its other end answers."""
        ...

    def close(self) -> None:
        """Close it; the runner at the other end finishes its current command, and ends."""
        ...
