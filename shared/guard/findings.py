"""The findings in a command text: the programs that it runs, and what is undecidable."""

from dataclasses import dataclass, field

from shared.guard.words import Run

FORK_BOMB = ":(){ :|:& };:"
"""The program of a `Run` that represents a function that keeps starting copies of itself."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something that only a person can decide (X17); `rule` names its kind."""

    rule: str
    reason: str
    part: str = ""


@dataclass(slots=True)
class Findings:
    """All runs and all doubts of one text."""

    runs: list[Run] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)
    spilled: list[Doubt] = field(default_factory=list)
    """Secrets that would be written to a file; `rule` names the secret's variable."""
