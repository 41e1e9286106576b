"""What carries bytes to a runner and back."""

from typing import Protocol


class LostError(Exception):
    """The way to a runner is gone; what runs there goes on.

    `alone` says that the shell ended by itself: the host is connected, and nothing killed it.
    """

    def __init__(self, message: str, *, alone: bool = False) -> None:
        super().__init__(message)
        self.alone = alone


class NoRoomError(Exception):
    """No further way is opened, for there is something better to be had."""


class Carrier(Protocol):
    """Two-way bytes. Both functions raise LostError once the other end is gone."""

    noise: bytes
    """What came beside them, on standard error; its end."""

    def send(self, data: bytes) -> None:
        """Hand the bytes over."""
        ...

    def receive(self, seconds: float) -> bytes:
        """What has arrived, nothing after that many seconds."""
        ...

    def beside(self) -> "Carrier":
        """A further way to the same host at once. Raises Transient or Misconfigured."""
        ...

    def close(self) -> None:
        """End it: the runner at the other end finishes what it is at, and ends."""
        ...
