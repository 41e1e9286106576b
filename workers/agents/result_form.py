"""The form in which results of tools are compared: without what differs at every run; pure."""

import re

_VARYING = re.compile(
    r"""
    \b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?(?:Z|[+-]\d\d:?\d\d)?\b  # a time
    | \b\d\d?:\d\d:\d\d(?:[.,]\d+)?\b                                    # a time of day, a span
    | \b\d+(?:\.\d+)?\s?(?:ns|us|µs|ms|s|secs?|seconds?|m|mins?|minutes?)\b          # a span
    | \b0x[0-9a-fA-F]{4,}\b                                              # an address in memory
    | \b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b   # a UUID
    | \bpid[ =:]+\d+\b
    | /tmp/[\w.-]+                                                       # a temporary file
    """,
    re.VERBOSE | re.IGNORECASE,
)


def comparable(result: str) -> str:
    """The result with times, spans, addresses and temporary names taken out.

    Two runs of the same command that had the same result give the same text. Other numbers stay:
    "3 failed" is not "2 failed".
    """
    return " ".join(_VARYING.sub("<varies>", result).split())
