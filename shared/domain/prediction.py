"""What a dry run foretells of a subtask (S0.17, S0.88)."""

from enum import StrEnum

_BEGINNING = "dry run: "


class Prediction(StrEnum):
    """What would become of a subtask, as far as looking tells."""

    SATISFIED = "already satisfied"
    WOULD_RUN = "would run"
    NEEDS_APPROVAL = "needs approval"
    DENIED = "denied"
    PRECONDITION_UNMET = "precondition unmet"
    UNKNOWN = "unknown"

    def told(self, why: str = "") -> str:
        """The prediction as the reason of an attempt, with its own reason if it has one."""
        return f"{_BEGINNING}{self}" + (f": {why}" if why else "")


def foretold(reason: str) -> Prediction | None:
    """The prediction that the reason of an attempt tells; None where it tells none."""
    if not reason.startswith(_BEGINNING):
        return None
    said = reason.removeprefix(_BEGINNING)
    return next((each for each in Prediction if said == each or said.startswith(f"{each}: ")), None)
