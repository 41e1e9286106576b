"""Chat Completions tell the tokens of a stream only if asked to: in one chunk more."""

import json
import re
from typing import Any, Final

from pydantic_core import from_json

from workers.gateway.routes import CHAT, Operation
from workers.gateway.upstream import ModelRequest

_END: Final = re.compile(rb"(\r?\n\r?\n)")

_LONGEST: Final = 100_000
"""Bytes of one event; a longer one is not the chunk, and passes as it comes."""


class UsageChunk:
    """Asks for the chunk, and takes it out again for a client that did not.

    `request` is what the upstream gets.
    """

    def __init__(self, request: ModelRequest, *, taken_out: bool) -> None:
        self.request = request
        self._taken_out = taken_out
        self._open = b""

    @classmethod
    def of(cls, request: ModelRequest) -> "UsageChunk":
        """For one request, whatever its protocol."""
        route, options = request.route, request.body.get("stream_options")
        chat = route.protocol is CHAT and route.operation is Operation.GENERATE
        asked = isinstance(options, dict) and options.get("include_usage")
        if not (chat and request.is_streamed) or asked:
            return cls(request, taken_out=False)
        more = {**(options if isinstance(options, dict) else {}), "include_usage": True}
        body = {**request.body, "stream_options": more}
        raw = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
        given = ModelRequest(route, raw, body, request.query, request.headers)
        return cls(given, taken_out=True)

    def feed(self, chunk: bytes) -> bytes:
        """The next bytes for the client; all of them where nothing is taken out."""
        if not self._taken_out:
            return chunk
        *pieces, self._open = _END.split(self._open + chunk)
        events = zip(pieces[::2], pieces[1::2], strict=True)
        passed = b"".join(event + end for event, end in events if not _is_usage(event))
        if len(self._open) > _LONGEST:
            passed, self._open = passed + self._open, b""
        return passed

    def finish(self) -> bytes:
        """The rest."""
        rest, self._open = self._open, b""
        return rest


def _is_usage(event: bytes) -> bool:
    if b'"usage"' not in event or b'"choices"' not in event:
        return False
    try:
        chunk: Any = from_json(event.strip().removeprefix(b"data:"))
    except ValueError:
        return False
    return isinstance(chunk, dict) and chunk.get("choices") == [] and bool(chunk.get("usage"))
