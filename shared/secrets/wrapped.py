"""Values that are broken into lines or letters: by `fold`, by `base64`, by carriage returns."""

from collections.abc import Iterable, Iterator

from shared.secrets.encodings import forms
from shared.secrets.heads import Heads, Place, continues
from shared.secrets.marks import mask_of
from shared.secrets.spans import Span, apply_masks, merge
from shared.secrets.value import Secret

GAPS = b" \t\r\n\0\v\f\b\a\x7f"
"""What programs put between the pieces of a value, and what a display leaves out."""

SHORTEST = 8
"""Fewest bytes of a form that is searched for across gaps: a shorter one would join words."""

HELD = 4
"""Fewest bytes of a form for which a stream waits behind a gap: no line may wait for the next."""

MOST_HELD = 65_536
"""Bytes that a stream holds back at most."""


class WrappedValues:
    """Finds the forms of values in a text without its gaps, in one scan."""

    def __init__(self, secrets: Iterable[Secret]) -> None:
        self._owners: dict[bytes, bytes] = {}
        for secret in sorted(secrets, key=lambda each: each.name):
            for form in forms(secret.reveal()):
                bare = form.translate(None, GAPS)
                if len(bare) >= SHORTEST:
                    self._owners.setdefault(bare, mask_of(secret.name).encode())
        self._forms = sorted(self._owners)
        self._longest = max(map(len, self._forms), default=0)
        self._heads = Heads(self._forms, HELD)

    def __bool__(self) -> bool:
        return bool(self._forms)

    def places(self, bare: bytes) -> list[Place]:
        """Where a form may begin, for the two below."""
        return self._heads.places(bare)

    def found(self, bare: bytes, places: list[Place]) -> list[tuple[int, int, bytes]]:
        """The start, the end and the mask of each form."""
        whole = self._heads.whole(bare, places)
        return [(start, start + len(form), self._owners[form]) for start, form in whole]

    def begins(self, bare: bytes, places: list[Place]) -> list[int]:
        """Where a form begins that may continue behind the end, in order."""
        floor = max(0, len(bare) - self._longest + 1)
        starts = [start for start, _ in places if start >= floor]
        starts += range(max(floor, len(bare) - HELD + 1), len(bare))
        return [start for start in starts if continues(self._forms, bare[start:])]


class WrappedStream:
    """Takes bytes and masks the values in them that gaps have broken up.

    The result does not depend on where the stream was cut. The first three bytes of a value are
    shown if a gap follows them: otherwise nearly every line would wait for the next one.
    """

    def __init__(self, known: WrappedValues) -> None:
        self._known = known
        self._before = b""
        self._pending = b""

    def feed(self, data: bytes) -> bytes:
        """The next bytes of the stream; returns those that are safe to write, maybe none."""
        if not self._known:
            return data
        return self._take(self._pending + data, last=False)

    def finish(self) -> bytes:
        """The bytes held back; the stream has ended."""
        return self._take(self._pending, last=True) if self._known else b""

    def _take(self, text: bytes, *, last: bool) -> bytes:
        bare = self._before + text.translate(None, GAPS)
        begun = self._known.places(bare)
        found = self._known.found(bare, begun)
        begins = [] if last else self._known.begins(bare, begun)
        if not found and all(len(bare) - begin < HELD for begin in begins):
            return self._give(text, len(text) - _short_end(text, len(bare), begins), ())
        places = _places(text)
        behind = len(self._before)
        spans = merge(_spans(found, places, behind))
        cut = len(text)
        for begin in begins:
            if len(bare) - begin < HELD:
                cut = min(cut, len(text) - _short_end(text, len(bare), [begin]))
            else:
                cut = min(cut, places[_shown_until(begin - behind, len(places), places)])
        for span in reversed(spans):
            if span.start < cut < span.end:
                cut = span.start
        if len(text) - cut > MOST_HELD:
            cut = len(text)
        return self._give(text, cut, [span for span in spans if span.end <= cut])

    def _give(self, text: bytes, cut: int, spans: Iterable[Span]) -> bytes:
        self._pending = text[cut:]
        shown = text[:cut]
        ending = shown[-64:].translate(None, GAPS)
        if len(ending) < HELD - 1:
            ending = shown.translate(None, GAPS)
        self._before = (self._before + ending)[-(HELD - 1) :]
        return apply_masks(shown, spans)


def _places(text: bytes) -> list[int]:
    """The position of each byte that is not a gap."""
    gaps = frozenset(GAPS)
    return [place for place, byte in enumerate(text) if byte not in gaps]


def _spans(found: list[tuple[int, int, bytes]], places: list[int], behind: int) -> Iterator[Span]:
    """The spans of forms in the text, each behind the last gap among its first bytes."""
    for begin, end, mask in found:
        if end <= behind:
            continue
        start = places[_shown_until(begin - behind, end - behind, places)]
        yield Span(start, start, places[end - behind - 1] + 1, mask)


def _shown_until(begin: int, end: int, places: list[int]) -> int:
    """The first byte of a form that is hidden: the bytes before it were shown before a gap."""
    start = max(begin, 0)
    for index in range(start + 1, min(begin + HELD, end)):
        if places[index] - places[index - 1] > 1:
            start = index
    return start


def _short_end(text: bytes, count: int, begins: list[int]) -> int:
    """How many bytes at the end wait because a form may begin in them; none behind a gap."""
    most = max((count - begin for begin in begins), default=0)
    waiting = 0
    while waiting < min(most, len(text)) and text[-1 - waiting] not in GAPS:
        waiting += 1
    return waiting
