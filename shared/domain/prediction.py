"""What a dry run predicts for a subtask (S0.17, S0.88)."""

from enum import StrEnum


class Prediction(StrEnum):
    """What would happen to a subtask, as far as a dry run can tell."""

    SATISFIED = "already satisfied"
    WOULD_RUN = "would run"
    NEEDS_APPROVAL = "needs approval"
    DENIED = "denied"
    PRECONDITION_UNMET = "precondition unmet"
    UNKNOWN = "unknown"
