"""Defines a correction: a rule that reads a failure and may propose another command."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from workers.shells.corrections.command_line import PlacedCommand, read


@dataclass(frozen=True)
class FailedCommand:
    """A failed attempt, as the rules read it.

    `command` is the command that failed, without the preparation that an earlier correction added.
    `exit_code` is None if it timed out. `check` is the check that stayed red, `waited` the seconds
    that this attempt has already spent waiting.
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
        """The simple commands of the command line; empty if it is more than that."""
        return read(self.command)

    @cached_property
    def output(self) -> str:
        """Both streams, standard error first, with plain quotation marks."""
        return f"{self.stderr}\n{self.stdout}".replace("\u2018", "'").replace("\u2019", "'")

    @property
    def check_is_red(self) -> bool:
        """True if the command itself succeeded and only its check failed (X20)."""
        return self.exit_code == 0


@dataclass(frozen=True, slots=True)
class Proposal:
    """What to run instead.

    `first` runs before the command, in the same shell; its exit code does not matter, so that a
    half-failed preparation does not hide the result of the command itself. The attempt first waits
    `pause` seconds, then repeats the command `until` for at most `patience` seconds; if that never
    exits with 0, nothing further is tried. `allowance` is added to the subtask's timeout for the
    preparation, so that it does not use up the command's own time. All durations are in seconds.
    """

    command: str
    first: tuple[str, ...] = ()
    pause: float = 0.0
    until: str | None = None
    patience: float = 0.0
    allowance: float = 0.0

    @property
    def text(self) -> str:
        """The final text that reaches the host."""
        return "; ".join((*self.first, self.command))


class Probe(Protocol):
    """Read-only looks at the host; a command that the guard does not allow counts as failed."""

    def ask(self, command: str) -> str:
        """The standard output of the command, whatever its exit code."""
        ...

    def holds(self, command: str) -> bool:
        """Whether the command exits with 0."""
        ...


@dataclass(frozen=True, slots=True)
class Correction:
    """A rule. `tested` says in the past tense, for the evidence, what it tried (S0.69)."""

    name: str
    tested: str
    applies: Callable[[FailedCommand], bool]
    propose: Callable[[FailedCommand, Probe], Proposal | None]
