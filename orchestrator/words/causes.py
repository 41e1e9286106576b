"""What a host says is wrong, in words."""

from collections.abc import Sequence

from shared.domain.cause import Cause, describe_cause

MOST = 8
"""How many causes are told; the bundle has all of them."""


def describe(causes: Sequence[Cause]) -> list[tuple[str, str]]:
    """A part with a line for each cause; nothing where there is none."""
    if not causes:
        return []
    lines = [" ".join(describe_cause(cause).split()) for cause in causes[:MOST]]
    more = [f"and {len(causes) - MOST} more"] if len(causes) > MOST else []
    return [("on the host", "\n".join((*lines, *more)))]
