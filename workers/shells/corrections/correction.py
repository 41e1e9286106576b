"""What a correction is: a rule that reads a failure and may propose another command."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from workers.shells.corrections.command_line import PlacedCommand, read


@dataclass(frozen=True)
class FailedCommand:
    """A failed attempt, as the rules read it.

    `command` is what failed, without what an earlier correction ran before it. `exit_code` is None
    when it was ended for its time. `check` is the check that stayed red, `waited` the seconds that
    this attempt has already spent waiting.
    """

    command: str
    exit_code: int | None
    stdout: str = ""
    stderr: str = ""
    check: str | None = None
    check_output: str = ""
    waited: float = 0.0

    @cached_property
    def commands(self) -> tuple[PlacedCommand, ...]:
        """The simple commands of the command line; none when it is more than that."""
        return read(self.command)

    @cached_property
    def output(self) -> str:
        """Both streams, standard error first, typographic quotes as plain ones."""
        return f"{self.stderr}\n{self.stdout}".replace("\u2018", "'").replace("\u2019", "'")

    @property
    def check_is_red(self) -> bool:
        """True when the command itself went well, and only its check did not (X20)."""
        return self.exit_code == 0


@dataclass(frozen=True, slots=True)
class Proposal:
    """What to run instead.

    `first` runs before the command, in the same shell; its exit code does not matter, so that a
    half-failed preparation does not hide what the command itself says. `pause` seconds pass before;
    `until` is a command awaited for at most `patience` seconds: when it never exits with 0, nothing
    further is tried. `allowance` is what the preparation may take on top of the subtask's timeout,
    so that it does not eat up the command's own time. All spans in seconds.
    """

    command: str
    first: tuple[str, ...] = ()
    pause: float = 0.0
    until: str | None = None
    patience: float = 0.0
    allowance: float = 0.0

    @property
    def text(self) -> str:
        """The final bytes that reach the host."""
        return "; ".join((*self.first, self.command))


class Probe(Protocol):
    """Read-only looks at the host; what the guard does not allow is as if it had failed."""

    def ask(self, command: str) -> str:
        """What the command printed on standard output, whatever its exit code."""
        ...

    def holds(self, command: str) -> bool:
        """Whether the command exits with 0."""
        ...


@dataclass(frozen=True, slots=True)
class Correction:
    """A rule. `tested` says in the past tense what was tried, for the evidence (S0.69)."""

    name: str
    tested: str
    applies: Callable[[FailedCommand], bool]
    propose: Callable[[FailedCommand, Probe], Proposal | None]
