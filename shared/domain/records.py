"""What a host has recorded and the database does not know: it has forgotten it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class RecordsAnswer(StrEnum):
    """What a person says about records that the database does not know."""

    ADOPT = "adopt"  # the pass takes the results on the host as its own
    DISCARD = "discard"  # they do not count: what is not done runs again, in a new pass


@dataclass(frozen=True, slots=True)
class HostRecord:
    """A command that a host has recorded, under a claim that the database does not know.

    `claim` is the random token of that claim, and `subtask` the number of the subtask if the key
    says it. `exit_code` is None for a command whose end is not recorded: it runs (`running`), or
    nobody can say how it ended. `started_at` is None if the host was restarted since. `differs`
    says that the pass would run another text under the same key.
    """

    claim: str
    revision: int
    pass_no: int
    key: str
    subtask: int | None
    command: str
    running: bool
    exit_code: int | None
    started_at: datetime | None = None
    differs: bool = False


@dataclass(frozen=True, slots=True)
class RecordedPass:
    """A pass under which a host has started commands, by the random tokens of run and claim."""

    run: str
    step: int
    revision: int
    pass_no: int
    claim: str


@dataclass(frozen=True, slots=True)
class SettledClaim:
    """What a person has said about the records of a claim, while that pass was at hand."""

    token: str
    pass_no: int
    answer: RecordsAnswer
