"""The bytes that are kept of a stream."""

from hypothesis import given
from hypothesis import strategies as st

from workers.shells.remote.capture import Capture


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


def test_what_is_known_to_be_missing_stands_between_head_and_tail() -> None:
    """And is counted, with what had been kept of the tail before it."""
    capture = Capture("stdout", limit=10)
    capture.take(b"headtail")
    capture.skip(100)
    capture.take(b"end")
    assert capture.dropped == 103
    assert capture.content() == b"headt\n[... 103 bytes left out ...]\nend"
