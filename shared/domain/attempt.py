"""An attempt: one try of one subtask in one run, and what came of it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
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


GREEN = frozenset({Outcome.OK, Outcome.SATISFIED, Outcome.SIMULATED})
COUNTED = frozenset(
    {Outcome.FAILED, Outcome.CHECK_FAILED, Outcome.TIMED_OUT, Outcome.PRECONDITION_UNMET}
)
"""The outcomes that count as one error each (X1, X3, X20)."""

LEFT_OVER = "left over: "
"""What stands before the processes that could not be ended, in the words of how a command ended."""


def left_over(told: str) -> str:
    """The processes that a reason names as left over on the host; nothing when there are none."""
    return told.partition(LEFT_OVER)[2].strip()


class Answer(StrEnum):
    """What a person says of an attempt whose outcome is unknown."""

    RAN = "ran"  # it ran, and well: it is not run again
    NOT_RUN = "not_run"
    AGAIN = "again"


SAID = {
    Answer.RAN: "it ran, says a person",
    Answer.NOT_RUN: "it did not run, says a person",
    Answer.AGAIN: "it is to be run again, says a person",
}
"""Each answer as it stands in the reason of the attempt."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command did. Streams are raw bytes, kept apart (S0.32).

    `exit_code` is None when it was ended (`timed_out` or `cancelled`; `ended` says how, in words)
    and when its outcome is not known (`unknown` says why, in words). `dropped` counts the bytes of
    each stream that went past the cap and were not kept.
    """

    command: str
    exit_code: int | None
    stdout: bytes
    stderr: bytes
    started_at: datetime
    ended_at: datetime
    timed_out: bool = False
    cancelled: bool = False
    stdout_dropped: int = 0
    stderr_dropped: int = 0
    ended: str = ""
    unknown: str = ""

    @property
    def ok(self) -> bool:
        """True when it ended by itself with exit code 0."""
        return self.exit_code == 0


OnOutput = Callable[[str, bytes], None]
"""Called with ("stdout" or "stderr", chunk) as output arrives."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A finished attempt as it is recorded.

    `number` counts the attempts of this subtask number in this run (`T12.2.3#number`);
    `try_no` counts within the pass, 0 being the command as planned.
    `correction` names the rule that changed the command, None for the planned one.
    `result` is None when nothing ran; `check` is the check after it, None without one.
    A `rollback` undoes what the subtask of that number and revision had done, in a later pass.
    """

    key: str
    run_id: int
    step: int
    revision: int
    subtask: int
    pass_no: int
    try_no: int
    number: int
    command: str
    outcome: Outcome
    started_at: datetime
    ended_at: datetime
    correction: str | None = None
    reason: str = ""
    rule: str | None = None
    result: CommandResult | None = None
    check: CommandResult | None = None
    never_red: bool = False
    rollback: bool = False

    @property
    def counted(self) -> bool:
        """True when it is one error of its step."""
        return self.outcome in COUNTED and not self.rollback
