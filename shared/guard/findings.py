"""What a command text comes to: the programs it runs, and what could not be told."""

from dataclasses import dataclass, field

from shared.guard.words import Run

FORK_BOMB = ":(){ :|:& };:"
"""The program of a `Run` that stands for a function which starts ever more copies of itself."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something that cannot be decided without a person (X17); `rule` names its kind."""

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
