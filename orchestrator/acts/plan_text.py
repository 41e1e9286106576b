"""A plan, or the subtasks of a step, as a person wrote them."""

from dataclasses import dataclass
from pathlib import PurePath


@dataclass(frozen=True, slots=True)
class PlanText:
    """YAML from a person; errors name its `source`, usually the path of its file."""

    text: str
    source: str

    @property
    def name(self) -> str:
        """The name of its file, without the folders."""
        return PurePath(self.source).name

    @property
    def stem(self) -> str:
        """The same without the suffix."""
        return PurePath(self.source).stem
