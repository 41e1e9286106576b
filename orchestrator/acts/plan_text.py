"""A plan, or the subtasks of a step, as a person wrote them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePath

from shared.domain.next_step import NextStep


@dataclass(frozen=True, slots=True)
class PlanText:
    """YAML from a person; errors name its `source`, usually the path of its file."""

    text: str
    source: str

    @property
    def submission(self) -> NextStep:
        """How it is submitted as a task."""
        return NextStep.of("task submit", plan=self.name)

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
    def submission(self) -> NextStep:
        """How it is submitted as a task."""
        return NextStep.of("task submit", tasks=self.name)
