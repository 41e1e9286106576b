"""The frames of a runner, however they are cut into pieces."""

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.shells.remote.channels import LostError
from workers.shells.remote.frames import Frames

NONCE = "00ff"


class Pieces:
    """A carrier that hands out what it was given."""

    noise = b""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)

    def send(self, data: bytes) -> None:
        """Nobody listens."""

    def receive(self, seconds: float) -> bytes:  # noqa: ARG002
        """The next piece."""
        piece = next(self._pieces, None)
        if piece is None:
            raise LostError("over")
        return piece

    def moves(self) -> bool:
        """Nothing lies between."""
        return True

    def beside(self) -> "Pieces":
        """There is one only."""
        raise NotImplementedError

    def close(self) -> None:
        """Nothing to close."""


@given(
    before=st.binary(max_size=60).filter(lambda noise: b"@@" not in noise),
    output=st.binary(max_size=60).filter(lambda output: b"@@" not in output),
    cuts=st.lists(st.integers(min_value=0, max_value=150), max_size=8),
)
def test_a_frame_is_found_wherever_it_is_cut(before: bytes, output: bytes, cuts: list[int]) -> None:
    """With the bytes before it whole."""
    stream = before + b"@@00ff E 1.0 0\n" + output + b"@@00ff .\n"
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = (stream[a:b] for a, b in pairwise(places) if a < b)
    frames = Frames(Pieces(pieces), NONCE)

    first, second = frames.expect("E", 1), frames.expect(".", 1)

    assert first.words == ("E", "1.0", "0")
    assert first.before == before
    assert second.before == output


def test_a_frame_of_another_nonce_is_output() -> None:
    """A command that prints what looks like a frame does not end itself."""
    frames = Frames(Pieces([b"@@0000 e 1.0 0\n@@00ff .\n"]), NONCE)
    assert frames.expect(".", 1).before == b"@@0000 e 1.0 0\n"


def test_what_comes_instead_of_a_frame_is_kept_for_the_error() -> None:
    """Its last part if it is long."""
    frames = Frames(Pieces([b"x" * 100_000, b"This account is closed.\n"]), NONCE)
    with pytest.raises(LostError):
        frames.next(1)
    assert frames.noise().endswith("closed.")
    assert len(frames.noise()) < 70_000
