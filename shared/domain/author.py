"""Who planned a step."""

from dataclasses import dataclass
from enum import StrEnum


class PlanningRole(StrEnum):
    """Who can plan; the value is the role's name in the configuration."""

    PLANNER = "planner"
    SUBTASK_PLANNER = "subtask_planner"
    HUMAN = "human"


@dataclass(frozen=True, slots=True)
class Author:
    """The role and the backend that planned a step; its bundles go back to it (S0.47).

    As text it is one word: `human`, or `subtask_planner/runbook`.
    """

    role: PlanningRole
    backend: str

    def __str__(self) -> str:
        role = self.role.value
        return role if role == self.backend else f"{role}/{self.backend}"
