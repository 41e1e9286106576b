"""Masking: known values first, then whatever has the form of a secret (X19)."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Protocol

from shared.secrets import colours, keyblocks
from shared.secrets.dumps import DumpedValues, DumpStream
from shared.secrets.known import KnownValues
from shared.secrets.lines import Lines
from shared.secrets.spans import apply_masks
from shared.secrets.structure import Structure
from shared.secrets.value import Secret
from shared.secrets.wrapped import WrappedStream, WrappedValues


class Masker:
    """Hides secrets in texts and in streams; one serves any number of them, from any thread.

    The value of a known secret becomes `‹secret:NAME›` in any of its forms
    (`shared.secrets.encodings`); text that only looks like a secret becomes `‹masked:KIND›`. Raises
    Misconfigured, at stage `secrets`, for a value that cannot be masked.

    A value is recognised across line ends and blanks too, and in dumps, whatever broke it up. It
    is not when it is compressed, encrypted, or changed letter by letter.
    """

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        listed = tuple(secrets)
        self._known = KnownValues(listed)
        self._wrapped = WrappedValues(listed)
        self._dumped = DumpedValues(listed)

    def stream(self) -> "MaskedStream | ValueStream":
        """A new stream: one for each of a command's outputs."""
        return MaskedStream(
            (ValueStream(self._known), DumpStream(self._dumped), WrappedStream(self._wrapped)),
            Lines(_structure(), self._known),
        )

    def bytes(self, content: bytes) -> bytes:
        """A whole output, masked; the result is the same as that of a stream, however it is cut."""
        stream = self.stream()
        return stream.feed(content) + stream.finish()

    def names_in(self, text: str) -> tuple[str, ...]:
        """The known secrets whose values occur in a text, in any form, each once."""
        return self._known.names_in(text.encode("utf-8", "surrogatepass"))

    def holds_value(self, text: str) -> bool:
        """Whether the value of a known secret occurs in a text, in any form."""
        return bool(self._known.spans(text.encode("utf-8", "surrogatepass")))

    def value_stream(self) -> "ValueStream":
        """A new stream in which only the values of known secrets are masked."""
        return ValueStream(self._known)

    def for_values(self) -> "Masker":
        """One for output that a program reads: it hides the values of known secrets alone."""
        return _ValueMasker(self._known)

    def values(self, text: str) -> str:
        """A text with the values of known secrets masked, and nothing else."""
        raw = text.encode("utf-8", "surrogatepass")
        return apply_masks(raw, self._known.spans(raw)).decode("utf-8", "surrogatepass")

    def text(self, text: str) -> str:
        """A text, masked; masking it once more changes nothing (up to 64 KB a line)."""
        if not text:
            return text
        return self.bytes(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


class _ValueMasker(Masker):
    """Hides the values of known secrets, and not what only looks like a secret."""

    def __init__(self, known: KnownValues) -> None:
        self._known = known

    def stream(self) -> "ValueStream":
        """See `Masker`."""
        return self.value_stream()


class ByValue(Protocol):
    """A stage of a stream that looks for the values of known secrets."""

    def feed(self, data: bytes) -> bytes:
        """The next bytes of the stream; returns those that are safe to write, maybe none."""
        ...

    def finish(self) -> bytes:
        """The bytes held back; the stream has ended."""
        ...


class MaskedStream:
    """Takes bytes and returns those that are safe to write.

    It holds back an unfinished line (at most 64 KB of it), lines of base64 that may belong to a
    private key (at most 200), and the beginning of a value that may continue.
    """

    def __init__(self, by_value: Sequence[ByValue], lines: Lines) -> None:
        self._stages = (*by_value, lines)

    def feed(self, data: bytes) -> bytes:
        """The next bytes of the stream; returns those that are safe to write, maybe none."""
        for stage in self._stages:
            data = stage.feed(data)
        return data

    def finish(self) -> bytes:
        """The bytes held back; the stream has ended. A value cut off by the end is masked, too."""
        data = b""
        for stage in self._stages:
            data = stage.feed(data) + stage.finish()
        return data


class ValueStream:
    """Takes bytes and returns them with the values of known secrets masked, and nothing else.

    It holds back no more than the beginning of a value that may continue.
    """

    def __init__(self, known: KnownValues) -> None:
        self._known = known
        self._pending = b""

    def feed(self, data: bytes) -> bytes:
        """The next bytes of the stream; returns those that are safe to write, maybe none."""
        if not self._known:
            return data
        text = self._pending + data
        spans, cut = self._known.spans_and_open(text)
        for span in spans:
            if span.start < cut < span.end:
                cut = span.start
        self._pending = text[cut:]
        return apply_masks(text[:cut], (span for span in spans if span.end <= cut))

    def finish(self) -> bytes:
        """The bytes held back; the stream has ended. A value cut off by the end is masked, too."""
        text, self._pending = self._pending, b""
        spans = self._known.spans(text)
        done = spans[-1].end if spans else 0
        spans += self._known.cut_off(text[done:], done)
        return apply_masks(text, spans)


@cache
def _structure() -> Structure:
    """The rules, compiled once in a process."""
    return Structure(also=(*keyblocks.TRIGGERS, colours.TRIGGER))
