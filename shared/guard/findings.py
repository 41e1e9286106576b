"""The findings in a command text: the programs that it runs, and what is undecidable."""

from dataclasses import dataclass, field

from shared.guard.words import Run, Word

FORK_BOMB = ":(){ :|:& };:"
"""The program of a `Run` that represents a function that keeps starting copies of itself."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something that only a person can decide (X17); `rule` names its kind."""

    rule: str
    reason: str
    part: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """What a text puts into a file: all of it, or more at its end."""

    path: str
    content: Word
    append: bool


@dataclass(slots=True)
class Findings:
    """All runs and all doubts of one text."""

    runs: list[Run] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)
    spilled: list[Doubt] = field(default_factory=list)
    """Secrets that would be written to a file; `rule` names the secret's variable."""
    names_secret: bool = False
    """The text, or one inside it, names the variable of a secret."""
    piped: bool = False
    """Whether what is followed now gets its standard input from a pipe."""
    redirected: bool = False
    """Whether the text has given something another standard input; `exec` keeps it for the rest."""

    @property
    def given_input(self) -> bool:
        """Whether the text says, or may say, what comes in where it is followed now."""
        return self.piped or self.redirected

    written: list[Written] = field(default_factory=list)
    """Every file that is written by a redirection or a copy, with its content."""
