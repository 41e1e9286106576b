"""A scenario: how a host is broken, the plan that then fails, and who is expected to mend it."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from shared.contracts.complaints import Document
from shared.contracts.documents import SubtaskDocument, subtasks_of
from shared.contracts.fields import Command, Text
from shared.contracts.origin import Origin
from shared.contracts.planfile import plan_in
from shared.contracts.yamltext import read_yaml
from shared.domain.config import Policy
from shared.domain.plan import Plan, Subtask, check_subtasks

FOLDER = Path(__file__).with_name("scenarios")

Way = Literal["corrections", "planner", "person"]
"""By whom a scenario is expected to be solved: rules alone, a planner, or nobody but a person."""


class Scenario(Document):
    """One broken host.

    Every script runs with `sh`: in a folder, as whoever runs the bench and with the folder as its
    working directory; in a Debian, as root.
    """

    title: Annotated[Text, Field(min_length=1, description="What is broken, in a few words.")]
    classic: Annotated[
        bool, Field(description="One of the classic faults, chosen before any rule was written.")
    ] = False
    host: Literal["folder", "debian"] = "folder"
    environment: Annotated[
        dict[str, str], Field(description="Variables of whoever logs in (Debian).")
    ] = Field(default_factory=dict)
    limits: Annotated[
        list[str], Field(description="Options of prlimit for whoever logs in (Debian).")
    ] = Field(default_factory=list)
    mounts: Annotated[bool, Field(description="Whether whoever logs in may mount (Debian).")] = (
        False
    )
    broken: Annotated[Command, Field(description="Breaks the host, before anything is asked.")]
    plan: Annotated[list[SubtaskDocument], Field(min_length=1, description="As first planned.")]
    check: Annotated[
        Command, Field(description="Tells whether it is solved; not through replan, not its check.")
    ]
    diagnosis: Annotated[Text, Field(min_length=1, description="What the scripted planner sees.")]
    revision: Annotated[
        list[SubtaskDocument], Field(min_length=1, description="What it proposes instead.")
    ]
    way: Way

    def planned(self, planner: str, policy: Policy) -> Plan:
        """The first plan, one step, as that planner's; raises Rejected for a fault."""
        subtasks = [each.model_dump(exclude_unset=True) for each in self.plan]
        step = {"title": self.title, "instruction": self.title, "subtasks": subtasks}
        return plan_in(
            {"planner": planner, "steps": [step]}, policy=policy, origin=Origin(self.title, "plan")
        )

    def revised(self, policy: Policy) -> tuple[Subtask, ...]:
        """The scripted planner's subtasks; raises Rejected for a fault."""
        subtasks = subtasks_of(self.revision, policy)
        check_subtasks(subtasks)
        return subtasks

    def answer(self, policy: Policy) -> dict[str, Any]:
        """The same as a model gives them."""
        return {
            "diagnosis": self.diagnosis,
            "subtasks": [_as_answered(each) for each in self.revised(policy)],
            "rollback": [],
            "impossible": "",
        }


def scenarios(folder: Path = FOLDER) -> dict[str, Scenario]:
    """All of them by name, which is the name of the file; raises Rejected naming every fault."""
    return {
        path.stem: Scenario.read(
            read_yaml(path.read_text(encoding="utf-8"), Origin(path.name, "plan")),
            Origin(path.name, "plan"),
        )
        for path in sorted(folder.glob("*.yaml"))
    }


def chosen(known: dict[str, Scenario], names: Sequence[str]) -> dict[str, Scenario]:
    """Those named, or all; raises KeyError for the first that is unknown."""
    return {name: known[name] for name in names} if names else known


def short(name: str) -> str:
    """A few characters that stand for a name in the names of hosts."""
    return hashlib.sha256(name.encode()).hexdigest()[:6]


def _as_answered(subtask: Subtask) -> dict[str, Any]:
    return {
        "id": subtask.key if not subtask.key.isdigit() else f"s{subtask.key}",
        "title": subtask.title,
        "command": subtask.command,
        "check": subtask.check or "",
        "timeout_seconds": int(subtask.timeout),
        "preconditions": list(subtask.preconditions),
        "needs": [key if not key.isdigit() else f"s{key}" for key in subtask.needs],
        "critical": subtask.critical,
        "rollback": subtask.rollback or "",
        "idempotent": subtask.idempotent,
    }
