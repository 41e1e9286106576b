"""A plan, or the subtasks of a step, as a person wrote them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePath


@dataclass(frozen=True, slots=True)
class PlanText:
    """YAML from a person; errors name its `source`, usually the path of its file."""

    text: str
    source: str

    @property
    def option(self) -> str:
        """How it is given to `task submit`."""
        return "plan"

    @property
    def name(self) -> str:
        """The name of its file, without the folders."""
        return PurePath(self.source).name

    @property
    def stem(self) -> str:
        """The same without the suffix."""
        return PurePath(self.source).stem


@dataclass(frozen=True, slots=True)
class TasksText(PlanText):
    """A file of tasks for coding agents; `read` gives the text of a file that it names.

    `read` raises Rejected, saying why, for a file that cannot be read.
    """

    read: Callable[[str], str] = field(repr=False)

    @property
    def option(self) -> str:
        """How it is given to `task submit`."""
        return "tasks"
