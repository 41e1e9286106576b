"""Questions that any shell answers by itself, as most checks are."""

import re

_ASKS = re.compile(
    r"true|false|:|(?:test|(?P<bracket>\[))"
    r"(?: (?!-[vR]\b|/dev/(?:std|fd)|/proc/(?:self|thread))[\w./:=,@%+!-]+)*(?(bracket) \])",
    re.ASCII,
)
"""Excludes questions about variables, streams or the process: the runner has its own."""


def asks(command: str) -> bool:
    """Whether any shell can answer the command without a new process, as for most checks."""
    return _ASKS.fullmatch(command) is not None
