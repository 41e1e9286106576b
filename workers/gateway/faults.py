"""Why the gateway does not pass a request on, as a value; each protocol has its own form of it."""

from collections.abc import Mapping
from enum import StrEnum


class FaultKind(StrEnum):
    """What is wrong, in the words that answers and rows carry."""

    INVALID_REQUEST = "invalid_request"
    UNAUTHENTICATED = "unauthenticated"
    SPENDING = "spending"
    UPSTREAM_REFUSED = "upstream_refused"
    UNAVAILABLE = "unavailable"
    NOT_FOUND = "not_found"
    NOT_ALLOWED = "method_not_allowed"
    TOO_LARGE = "too_large"
    DEFECT = "defect"


_STATUS: Mapping[FaultKind, int] = {
    FaultKind.INVALID_REQUEST: 400,
    FaultKind.UNAUTHENTICATED: 401,
    FaultKind.NOT_FOUND: 404,
    FaultKind.NOT_ALLOWED: 405,
    FaultKind.TOO_LARGE: 413,
    FaultKind.DEFECT: 500,
}
_HARD_STOP = 402
"""Claude Code and Codex end at once on it. They repeat what has a 5xx, on which others hang."""


class Refusal(Exception):
    """A request is answered with an error of the gateway itself; `reason` is for people."""

    def __init__(self, kind: FaultKind, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason

    @property
    def status(self) -> int:
        """The HTTP status of the answer."""
        return _STATUS.get(self.kind, _HARD_STOP)


class Cut(Exception):
    """The answer of the upstream broke off; so does what the gateway passes on."""
