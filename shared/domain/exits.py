"""The exit codes of every process of replan: the one table, for people and for supervisors."""

from enum import IntEnum
from typing import Final

from shared.domain.errors import Defect, Misconfigured, Rejected, ReplanError, Transient


class ExitCode(IntEnum):
    """How a process ended.

    A process that runs until it is stopped (a coordinator, a worker, `up`) ends with DONE only
    after SIGTERM or SIGINT. With any other code it has given up: start it again.
    """

    DONE = 0
    FAILED = 1
    REFUSED = 2
    WAITING = 3
    UNREACHABLE = 4
    CRASHED = 70
    CUT_OFF = 75
    INTERRUPTED = 130


MEANINGS: Final = {
    ExitCode.DONE: "done; a process that runs until it is stopped was asked to stop",
    ExitCode.FAILED: "the work failed, or replan has a defect",
    ExitCode.REFUSED: "bad input, a refusal, or a setting that only the operator can mend",
    ExitCode.WAITING: "a person is asked",
    ExitCode.UNREACHABLE: "a server did not answer (a starting process waits for the database)",
    ExitCode.CRASHED: "a part of a coordinator or a worker ended unasked (EX_SOFTWARE)",
    ExitCode.CUT_OFF: "a worker had neither database nor broker for `liveness` s (EX_TEMPFAIL)",
    ExitCode.INTERRUPTED: "a command was interrupted by Ctrl-C",
}
"""What each code says; docs/operating.md shows this table, and a test compares the two."""

BY_FAMILY: Final[tuple[tuple[type[ReplanError], ExitCode], ...]] = (
    (Transient, ExitCode.UNREACHABLE),
    (Rejected, ExitCode.REFUSED),
    (Misconfigured, ExitCode.REFUSED),
    (Defect, ExitCode.FAILED),
)
"""The code for each family of errors; the first that fits."""


def code_of(error: ReplanError) -> ExitCode:
    """The exit code of a process that ends with this error."""
    return next(code for family, code in BY_FAMILY if isinstance(error, family))
