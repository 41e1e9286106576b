"""Values that a program coloured in the middle, as `grep --color` does with what it found."""

import re

from shared.secrets.known import KnownValues
from shared.secrets.spans import Span, apply_masks

TRIGGER = b"\x1b["
"""What a line with colours holds."""

_SEQUENCE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")


def hidden_across_colours(line: bytes, known: KnownValues) -> bytes:
    """The line with the values masked that stand in it when its escape sequences are left out."""
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
    """Where each byte that is not part of a sequence stands in the line."""
    places: list[int] = []
    done = 0
    for found in _SEQUENCE.finditer(line):
        places.extend(range(done, found.start()))
        done = found.end()
    return [*places, *range(done, len(line))]
