"""The class of an error, derived from the results of an attempt (S1.32); pure."""

import re

from shared.domain.attempt import Attempt
from shared.domain.error_class import ErrorClass
from shared.domain.outcome import Outcome

_READ_AT_MOST = 16_384
"""Bytes of each stream, from its end, that are read."""

_BY_OUTCOME = {
    Outcome.TIMED_OUT: ErrorClass.TIMEOUT,
    Outcome.CHECK_FAILED: ErrorClass.CHECK,
    Outcome.PRECONDITION_UNMET: ErrorClass.PRECONDITION,
}

_NOT_HELD = (
    r"(?!.*(?:permission denied|not permitted|read-only file system|no space left|no such file))"
)
"""Keeps a line about a lock that could not be had though nobody holds it from matching."""

_BY_WORDS = (
    (
        ErrorClass.BUSY,
        rf"^{_NOT_HELD}.*could not get lock|resource temporarily unavailable"
        r"|is another process using it|device or resource busy|text file busy|lock is held"
        r"|is locked|locked by another process|another (transaction|copy) is|try again later",
    ),
    (
        ErrorClass.NETWORK,
        r"temporary failure (in name resolution|resolving)|could not resolve|network is unreachable"
        r"|no route to host|connection (refused|reset|timed out)|timed? ?out while connecting"
        r"|tls handshake|50[234] (bad gateway|service unavailable|gateway time-?out)",
    ),
    (
        ErrorClass.RIGHTS,
        r"permission denied|operation not permitted|must be (run as )?root|are you root|\bEACCES\b"
        r"|superuser privilege|(unless|need to be|not) (you are )?root\b|root privileges"
        r"|a password is required|access denied|authentication fail(ed|ure)",
    ),
    (
        ErrorClass.MISSING,
        r"command not found|: not found$|no such file or directory|unable to locate package"
        r"|no module named|unit \S+ not found|could not find",
    ),
)
_PATTERNS = tuple(
    (kind, re.compile(words, re.IGNORECASE | re.MULTILINE)) for kind, words in _BY_WORDS
)


def class_of(attempt: Attempt | None) -> ErrorClass:
    """The class of a failed attempt; `other` for unknown output, and for None.

    A command that reached its timeout is a timeout, whatever it printed. Otherwise the output
    decides before the outcome does; the first match in the order of the table wins.
    """
    if attempt is None:
        return ErrorClass.OTHER
    if attempt.outcome is Outcome.TIMED_OUT:
        return ErrorClass.TIMEOUT
    output = _output(attempt)
    matched = next((kind for kind, words in _PATTERNS if words.search(output)), None)
    return matched or _BY_OUTCOME.get(attempt.outcome, ErrorClass.OTHER)


def _output(attempt: Attempt) -> str:
    results = (result for result in (attempt.result, attempt.check) if result is not None)
    streams = [s[-_READ_AT_MOST:] for r in results for s in reversed(r.streams)]
    return "\n".join(s.decode(errors="replace") for s in streams)
