"""What a host says is wrong, in words."""

from collections.abc import Sequence

from shared.domain.cause import Cause, describe_cause

MOST = 8
"""How many causes are told; the bundle has all of them."""


def describe(causes: Sequence[Cause]) -> list[tuple[str, str]]:
    """A part with a line for each cause; nothing where there is none."""
    if not causes:
        return []
    lines = [_shown(describe_cause(cause)) for cause in causes[:MOST]]
    more = [f"and {len(causes) - MOST} more"] if len(causes) > MOST else []
    return [("wrong on the host", "\n".join((*lines, *more)))]


def _shown(text: str) -> str:
    """On one line, with `?` for whatever a terminal would not show as it is."""
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
