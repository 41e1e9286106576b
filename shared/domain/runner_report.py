"""What a short trial says about a runner on a machine."""

import re
from dataclasses import dataclass
from enum import StrEnum

_NUMBER = re.compile(r"\d+(?:\.\d+)+")


class RunnerState(StrEnum):
    """What a trial found."""

    WORKS = "works"
    MISSING = "missing"  # its program is not on the PATH
    FAILS = "fails"
    SILENT = "silent"  # it did not end in time
    NOT_TRIED = "not_tried"  # its program is there; it starts too slowly to be tried


@dataclass(frozen=True, slots=True)
class RunnerReport:
    """A runner on a machine, tried with a scripted model.

    `runner` is what plans call it, `program` what is looked up on the PATH, `path` where that was
    found. `version` is what it says itself, `tested` the version that replan is tested with. It
    `defers` if it ends with a question to a person, `resumes` if the same session goes on with the
    answer, and has a `schema` if it keeps to a required form of its answer. `detail` is what it
    said when it failed; `seconds` is how long the trial took.
    """

    runner: str
    program: str
    tested: str
    state: RunnerState
    path: str | None = None
    version: str = ""
    defers: bool = False
    resumes: bool = False
    schema: bool = False
    seconds: float = 0.0
    detail: str = ""

    @property
    def name(self) -> str:
        """What people know it by."""
        return self.runner if self.runner != "acp" else f"acp ({self.program})"

    @property
    def is_older(self) -> bool:
        """Whether it says that it is older than what replan is tested with."""
        return bool(self.version) and _numbers(self.version) < _numbers(self.tested)


def _numbers(version: str) -> tuple[int, ...]:
    found = _NUMBER.search(version)
    return tuple(map(int, found[0].split("."))) if found else ()
