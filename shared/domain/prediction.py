"""What a dry run foretells of a subtask (S0.17, S0.88)."""

from enum import StrEnum


class Prediction(StrEnum):
    """What would become of a subtask, as far as looking tells."""

    SATISFIED = "already satisfied"
    WOULD_RUN = "would run"
    NEEDS_APPROVAL = "needs approval"
    DENIED = "denied"
    PRECONDITION_UNMET = "precondition unmet"
    UNKNOWN = "unknown"
