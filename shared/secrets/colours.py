"""Values that a program coloured in part, as `grep --color` does with its matches."""

import re

from shared.secrets.known import KnownValues
from shared.secrets.spans import Span, apply_masks

TRIGGER = b"\x1b["
"""A byte that every line with colours contains."""

_SEQUENCE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")


def hidden_across_colours(line: bytes, known: KnownValues) -> bytes:
    """The line with those values masked that it contains once its escape sequences are removed."""
    pieces = _SEQUENCE.split(line)
    spans = known.spans(b"".join(pieces))
    if not spans:
        return line
    places = _places(line)
    return apply_masks(
        line,
        (Span(places[s.start], places[s.start], places[s.end - 1] + 1, s.mask) for s in spans),
    )


def _places(line: bytes) -> list[int]:
    """The position of each byte of the line that is not part of an escape sequence."""
    places: list[int] = []
    done = 0
    for found in _SEQUENCE.finditer(line):
        places.extend(range(done, found.start()))
        done = found.end()
    return [*places, *range(done, len(line))]
