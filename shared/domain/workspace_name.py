"""The names of workspaces on hosts: of the steps of a run, and of a session's main one."""

import re
from dataclasses import dataclass
from typing import Final, Self

MAIN: Final = "main"
"""What stands for the number of a step in the name of a session's main worktree."""

_NAME = re.compile(
    rf"(?P<run>[0-9a-f]{{32}})-(?:(?P<step>[1-9][0-9]*)(?:\.(?P<rejected>[1-9][0-9]*))?|{MAIN})"
)


@dataclass(frozen=True, slots=True)
class WorkspaceName:
    """The workspace of a step, or the main one of a session: then `step` is None.

    `run` is the name of its run on hosts. A step has another workspace after each delivery of it
    that was `rejected`.
    """

    run: str
    step: int | None
    rejected: int = 0

    def __str__(self) -> str:
        """As its folder is named."""
        step = MAIN if self.step is None else str(self.step)
        return f"{self.run}-{step}.{self.rejected}" if self.rejected else f"{self.run}-{step}"

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """Read a name; None if it is not one."""
        found = _NAME.fullmatch(name)
        if found is None:
            return None
        step, rejected = found["step"], found["rejected"]
        return cls(found["run"], None if step is None else int(step), int(rejected or 0))
