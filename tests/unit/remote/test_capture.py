"""What is kept of a stream."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from workers.remote.capture import Capture, Opening

NONCE = "00ff"


@given(
    chunks=st.lists(st.binary(max_size=40), max_size=40),
    limit=st.integers(min_value=2, max_value=99),
)
def test_head_and_tail_are_kept_and_the_rest_is_counted(chunks: list[bytes], limit: int) -> None:
    """However the stream is cut into chunks."""
    capture = Capture("stdout", limit=limit)
    for chunk in chunks:
        capture.take(chunk)
    stream = b"".join(chunks)

    assert capture.dropped == max(0, len(stream) - limit)
    if not capture.dropped:
        assert capture.content() == stream
        return
    head, tail = (limit + 1) // 2, limit // 2
    note = b"\n[... %d bytes left out ...]\n" % capture.dropped
    assert capture.content() == stream[:head] + note + stream[len(stream) - tail :]


def test_everything_is_passed_on() -> None:
    """What is not kept was still seen."""
    seen: list[tuple[str, bytes]] = []
    capture = Capture("stderr", lambda stream, chunk: seen.append((stream, chunk)), limit=2)
    for chunk in (b"abc", b"", b"defg"):
        capture.take(chunk)

    assert seen == [("stderr", b"abc"), ("stderr", b"defg")]


@given(
    noise=st.binary(max_size=60).filter(lambda noise: b"@@" not in noise),
    output=st.binary(max_size=60),
    cuts=st.lists(st.integers(min_value=0, max_value=150), max_size=8),
)
def test_the_opening_line_parts_noise_from_output(
    noise: bytes, output: bytes, cuts: list[int]
) -> None:
    """Wherever the chunks end."""
    stream = noise + b"@@00ff 4711\n" + output
    opening = Opening(NONCE)
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    taken = b"".join(opening.take(stream[start:end]) for start, end in pairwise(places))

    assert opening.word == "4711"
    assert taken == output
    assert opening.noise == noise


def test_without_an_opening_line_there_is_no_output() -> None:
    """What came instead is kept for the error message, its last part if it is long."""
    opening = Opening(NONCE)
    assert opening.take(b"x" * 100_000 + b"This account is closed.\n") == b""
    assert opening.word is None
    assert opening.noise.endswith(b"closed.\n")
    assert len(opening.noise) < 70_000
