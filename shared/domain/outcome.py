"""What came of an attempt, in one word."""

from enum import StrEnum


class Outcome(StrEnum):
    """What came of an attempt; only the first three leave the subtask done."""

    OK = "ok"
    SATISFIED = "satisfied"  # the check was green before anything ran
    SIMULATED = "simulated"  # dry run
    FAILED = "failed"  # exit code other than 0
    CHECK_FAILED = "check_failed"  # exit code 0, but the check is red (X20)
    TIMED_OUT = "timed_out"
    PRECONDITION_UNMET = "precondition_unmet"
    DENIED = "denied"  # the guard forbids it
    NEEDS_APPROVAL = "needs_approval"
    BLOCKED = "blocked"  # something it needs has failed (X3): not an attempt that counts
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"  # it was started, and nobody can say how it ended
    NEEDS_INPUT = "needs_input"  # it asks what only a person knows: no error
    OVER_BUDGET = "over_budget"  # its next call to a model could not be paid: no error


GREEN = frozenset({Outcome.OK, Outcome.SATISFIED, Outcome.SIMULATED})
COUNTED = frozenset(
    {Outcome.FAILED, Outcome.CHECK_FAILED, Outcome.TIMED_OUT, Outcome.PRECONDITION_UNMET}
)
"""The outcomes that count as one error each (X1, X3, X20)."""
