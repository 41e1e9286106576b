"""Server-sent events, read from pieces of any size and written."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

_LONGEST: Final = 16_000_000
"""Bytes of one event; a longer one is not looked at."""


class EventSplitter:
    """Finds the data of each event in a stream of bytes; never raises."""

    def __init__(self) -> None:
        self._open = b""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The data of the events that this piece completes."""
        text = self._open + chunk
        if b"\r" in text:
            # the first half of a line end may be the last byte
            keep = b"\r" if text.endswith(b"\r") else b""
            text = text.removesuffix(b"\r").replace(b"\r\n", b"\n") + keep
        *events, self._open = text.split(b"\n\n")
        if len(self._open) > _LONGEST:
            self._open = b""
        for event in events:
            data = [
                line[5:].removeprefix(b" ")
                for line in event.split(b"\n")
                if line.startswith(b"data:")
            ]
            if data:
                yield b"\n".join(data)


def event(data: Mapping[str, Any], name: str | None = None) -> bytes:
    """One event that carries a JSON object."""
    head = b"" if name is None else f"event: {name}\n".encode()
    return head + b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"
