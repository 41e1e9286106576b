"""Keeps the head and the tail of a stream, whatever its length."""

from collections import deque
from typing import Protocol

from shared.domain.attempt import OnOutput
from shared.secrets.masking import MaskedStream, Masker, ValueStream

STREAM_LIMIT = 1_048_576
"""Bytes kept of each stream of a command."""

_SMALL = 4096  # shorter pieces of the tail are joined, or a slow trickle would cost memory


class Taker(Protocol):
    """Takes a stream in pieces."""

    def take(self, chunk: bytes) -> None:
        """Take the next bytes."""
        ...

    def skip(self, size: int) -> None:
        """Note that so many bytes are missing here."""
        ...


class Capture:
    """Keeps `limit` bytes of a stream, half from each end, and counts the bytes that it drops.

    The masker hides secrets before anything is kept. `take` never waits and never fails; memory
    stays below twice the limit.
    """

    def __init__(
        self,
        stream: str,
        on_output: OnOutput | None = None,
        *,
        limit: int = STREAM_LIMIT,
        masker: Masker | None = None,
    ) -> None:
        self._masker = masker
        self._masked: MaskedStream | ValueStream | None = None
        self._cut = False
        self._dropped = 0
        self._stream = stream
        self._on_output = on_output
        self._head = bytearray()
        self._tail: deque[bytearray] = deque()
        self._tail_size = 0
        self._head_limit = (limit + 1) // 2
        self._tail_limit = limit // 2

    def take(self, chunk: bytes) -> None:
        """Take the next bytes of the stream, and pass all of them on to `on_output`."""
        if not chunk:
            return
        if self._on_output is not None:
            self._on_output(self._stream, chunk)
        if self._masker is not None:
            chunk = self._after_cut(chunk)
            if self._masked is None:
                self._masked = self._masker.stream()
            chunk = self._masked.feed(chunk)
        self._keep(chunk)

    def _keep(self, chunk: bytes) -> None:
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if chunk:
            self._keep_tail(chunk)

    def skip(self, size: int) -> None:
        """Note that so many bytes are missing here; the bytes that follow are the end."""
        self._flush()
        self._cut = self._masker is not None
        self._head_limit = len(self._head)
        self._dropped += self._tail_size + size
        self._tail.clear()
        self._tail_size = 0

    def content(self) -> bytes:
        """The bytes that were kept; a line says how many are missing. Call this last."""
        self._flush()
        tail = b"".join(self._tail)
        if not self.dropped:
            return bytes(self._head) + tail
        note = b"\n[... %d bytes left out ...]\n" % self.dropped
        return bytes(self._head) + note + tail[max(0, len(tail) - self._tail_limit) :]

    @property
    def dropped(self) -> int:
        """How many bytes of the masked stream are not in `content`."""
        return self._dropped + max(0, self._tail_size - self._tail_limit)

    def _flush(self) -> None:
        if self._masked is not None:
            self._keep(self._masked.finish())
            self._masked = None

    def _after_cut(self, chunk: bytes) -> bytes:
        """Drop the rest of a line that was cut, because the cut may have split a secret."""
        if not self._cut:
            return chunk
        line, newline, rest = chunk.partition(b"\n")
        self._cut = not newline
        self._dropped += len(line)
        return rest

    def _keep_tail(self, chunk: bytes) -> None:
        if self._tail and len(self._tail[-1]) < _SMALL:
            self._tail[-1] += chunk
        else:
            self._tail.append(bytearray(chunk))
        self._tail_size += len(chunk)
        while self._tail_size - len(self._tail[0]) >= self._tail_limit:
            oldest = self._tail.popleft()
            self._tail_size -= len(oldest)
            self._dropped += len(oldest)
