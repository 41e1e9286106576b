"""What a runner says instead of starting a command."""

import re

import pytest

from shared.domain.host import LOCALHOST
from workers.shells.remote.channels import LostError
from workers.shells.remote.frames import Refusal
from workers.shells.remote.runner import Refused, Runner


class Saying:
    """A carrier whose runner greets, and then says one frame."""

    noise = b""

    def __init__(self, said: str) -> None:
        self._said = said
        self._coming = b""

    def send(self, data: bytes) -> None:
        """Take the nonce from the runner's text."""
        nonce = re.findall(rb"\b[0-9a-f]{12}\b", data)[0].decode()
        frames = ("hello 7 100 boot 4026531836 50", self._said)
        self._coming = "".join(f"@@{nonce} {frame}\n" for frame in frames).encode()

    def receive(self, seconds: float) -> bytes:  # noqa: ARG002
        """All at once."""
        coming, self._coming = self._coming, b""
        return coming

    def moves(self) -> bool:
        """Nothing lies between."""
        return True

    def beside(self) -> "Saying":
        """There is one only."""
        raise NotImplementedError

    def close(self) -> None:
        """Nothing to close."""


@pytest.mark.parametrize("why", Refusal)
def test_every_refusal_has_a_name(why: Refusal) -> None:
    """So whoever reads it decides about each."""
    runner = Runner(Saying(f"{why} c1"), LOCALHOST)
    assert runner.await_end(1.0) == Refused(why)


@pytest.mark.parametrize("said", ["ids c1", "OVER c1", "late? c1", "open", "uncontained? ids"])
def test_what_is_no_refusal_is_taken_for_none(said: str) -> None:
    """It once passed as a takeover by another worker."""
    runner = Runner(Saying(said), LOCALHOST)
    with pytest.raises(LostError):
        runner.await_end(1.0)
