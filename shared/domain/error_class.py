"""The kind of error that a pass failed with: it decides how often and how soon to try again."""

from enum import StrEnum


class ErrorClass(StrEnum):
    """The kind of the last counted error of a pass (S1.32)."""

    TIMEOUT = "timeout"  # it took longer than it may
    NETWORK = "network"  # the other side was not reached, or broke off
    BUSY = "busy"  # somebody else holds what it needs
    RIGHTS = "rights"  # it may not do that
    MISSING = "missing"  # a program or a file is not there
    CHECK = "check"  # it ran, and its check is red
    PRECONDITION = "precondition"  # it was not yet to run
    OTHER = "other"
