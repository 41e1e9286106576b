"""Spans of a text to mask."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A span to mask from `start` to `end`; the text that identifies it begins at `begin`."""

    begin: int
    start: int
    end: int
    mask: bytes


def merge(spans: Iterable[Span]) -> list[Span]:
    """The spans in order; overlapping ones are merged under the mask of the longest."""
    apart: list[Span] = []
    longest = 0
    for span in sorted(spans, key=lambda each: (each.start, -each.end, each.mask)):
        length = span.end - span.start
        if not apart or span.start >= apart[-1].end:
            apart.append(span)
            longest = length
            continue
        last = apart[-1]
        mask = span.mask if length > longest else last.mask
        longest = max(longest, length)
        apart[-1] = Span(min(last.begin, span.begin), last.start, max(last.end, span.end), mask)
    return apart


def apply_masks(text: bytes, spans: Iterable[Span]) -> bytes:
    """The text with each span replaced by its mask; the spans are sorted and do not overlap."""
    pieces = []
    done = 0
    for span in spans:
        pieces += [text[done : span.start], span.mask]
        done = span.end
    return b"".join((*pieces, text[done:]))
