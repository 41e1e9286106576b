"""The chunk with the tokens is asked for and taken out, and everything else passes as it comes."""

from typing import Any, Final

import pytest

from workers.gateway.routes import CHAT, Operation, Route
from workers.gateway.upstream import ModelRequest
from workers.gateway.usage_chunk import UsageChunk

SAYS: Final = b'data: {"choices": [{"delta": {"content": "hi"}}], "usage": null}'
USAGE: Final = b'data: {"choices": [], "usage": {"prompt_tokens": 3}}'
DONE: Final = b"data: [DONE]"


def usage_chunk() -> UsageChunk:
    """That of a client that did not ask for it."""
    body: Any = {"model": "m", "stream": True, "messages": []}
    route = Route(CHAT, Operation.GENERATE, "/v1/chat/completions")
    return UsageChunk.of(ModelRequest(route, b"", body, "", {}))


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\n\r\n"])
def test_each_event_passes_once_it_is_whole_with_its_own_line_ends(end: bytes) -> None:
    chunk = usage_chunk()
    passed = [chunk.feed(each + end) for each in (SAYS, USAGE, DONE)]
    assert passed == [SAYS + end, b"", DONE + end]
    assert chunk.finish() == b""


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n"])
@pytest.mark.parametrize("size", [1, 2, 7])
def test_the_size_of_the_pieces_does_not_matter(end: bytes, size: int) -> None:
    stream = b"".join(each + end for each in (SAYS, USAGE, DONE))
    chunk = usage_chunk()
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    passed = b"".join(map(chunk.feed, pieces)) + chunk.finish()
    assert passed == SAYS + end + DONE + end


def test_an_event_without_an_end_is_not_kept_back() -> None:
    chunk = usage_chunk()
    piece = b"data: " + b"x" * 70_000
    assert chunk.feed(piece) == b""
    assert chunk.feed(piece) == piece * 2
    assert chunk.feed(b"\n\n" + USAGE + b"\n\n") == b"\n\n"
