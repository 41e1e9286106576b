"""A scenario: how a host is broken, the plan that then fails, and who is expected to mend it.

Each is one text that is played three ways: under the names with which it is first met, under other
names at another depth, and as another cause that gives the same message (`Variant`).
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from shared.contracts.complaints import Document
from shared.contracts.documents import SubtaskDocument, subtasks_of
from shared.contracts.fields import Command, Text
from shared.contracts.origin import Origin
from shared.contracts.planfile import plan_in
from shared.contracts.yamltext import read_yaml
from shared.domain.config import Policy
from shared.domain.plan import Plan, Subtask, check_subtasks

FOLDER = Path(__file__).with_name("scenarios")

TASK = "Carry out these commands; each check tells whether its command has had its effect."

Way = Literal["corrections", "planner", "person"]
"""By whom a scenario is expected to be solved: rules alone, a planner, or nobody but a person."""

_PLACE = re.compile(r"@([a-z_]+)@")
_MARKED = ("broken", "plan", "check", "looks", "shown_by", "diagnosis", "revision", "environment")
"""The fields in which names stand as `@name@`."""


class Variant(StrEnum):
    """How a scenario is met."""

    FIRST = "first"
    OTHER_NAMES = "other names"  # the same cause under other names, at another depth
    OTHER_CAUSE = "other cause"  # the same step and the same message, from another cause


class OtherCause(Document):
    """Another cause of the same message, in which the fix that is right elsewhere is wrong.

    `broken` runs after the scenario's own breaking, or `instead` of it.
    """

    cause: Annotated[Text, Field(min_length=1, description="What is really wrong.")]
    broken: Annotated[Command, Field(description="What makes it another cause.")]
    instead: bool = False
    canary: Annotated[
        Command, Field(description="Green before and after: what the other fix would spoil.")
    ]


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
    packages: Annotated[bool, Field(description="Whether apt knows an archive (Debian).")] = False
    names: Annotated[
        dict[str, Annotated[list[str], Field(min_length=2, max_length=2)]],
        Field(description="What stands for `@name@`: as first met, and as met under other names."),
    ]
    broken: Annotated[Command, Field(description="Breaks the host, before anything is asked.")]
    plan: Annotated[list[SubtaskDocument], Field(min_length=1, description="As first planned.")]
    check: Annotated[
        Command, Field(description="Tells whether it is solved; not through replan, not its check.")
    ]
    looks: Annotated[
        list[Command], Field(min_length=1, description="What shows the cause to a planner.")
    ]
    shown_by: Annotated[
        Text, Field(min_length=1, description="A pattern of the output that tells the cause.")
    ]
    diagnosis: Annotated[Text, Field(min_length=1, description="What the scripted planner sees.")]
    revision: Annotated[
        list[SubtaskDocument], Field(min_length=1, description="What it proposes instead.")
    ]
    way: Way
    other_cause: OtherCause

    @model_validator(mode="after")
    def _names_and_places_agree(self) -> Self:
        used = set(_PLACE.findall(self.model_dump_json(include={*_MARKED, "other_cause"})))
        if used != set(self.names):
            odd = ", ".join(sorted(used ^ set(self.names)))
            raise ValueError(f"names and the @names@ in the texts differ: {odd}")
        if same := [name for name, (first, other) in self.names.items() if first == other]:
            raise ValueError(f"the same under other names: {', '.join(same)}")
        re.compile(self.shown_by)
        return self

    def met_as(self, variant: Variant) -> "Scenario":
        """The scenario as it is played in that variant: no name is left open."""
        ordinal = int(variant is Variant.OTHER_NAMES)
        values = {name: pair[ordinal] for name, pair in self.names.items()}
        named: dict[str, Any] = _named(self.model_dump(exclude_unset=True), values) | {"names": {}}
        if variant is Variant.OTHER_CAUSE:
            other = named["other_cause"]
            before = [] if self.other_cause.instead else [named["broken"]]
            named["broken"] = "\n".join((*before, other["broken"]))
        return Scenario.model_validate(named)

    @property
    def pairs(self) -> dict[str, str]:
        """Which name is met where another was met first."""
        return {each[0]: each[1] for each in self.names.values()}

    def is_told_by(self, output: str) -> bool:
        """Whether that output shows what is wrong."""
        return re.search(self.shown_by, output, re.MULTILINE | re.DOTALL) is not None

    def planned(self, planner: str, policy: Policy) -> Plan:
        """The first plan, one step, as that planner's; raises Rejected for a fault.

        Its words do not tell what is broken.
        """
        subtasks = [each.model_dump(exclude_unset=True) for each in self.plan]
        title = f"Carry out {self.plan[-1].run}"[:100].splitlines()[0]
        step = {"title": title, "instruction": TASK, "subtasks": subtasks}
        return plan_in(
            {"planner": planner, "steps": [step]}, policy=policy, origin=Origin(self.title, "plan")
        )

    def revised(self, policy: Policy) -> tuple[Subtask, ...]:
        """The scripted planner's subtasks; raises Rejected for a fault."""
        subtasks = subtasks_of(self.revision, policy)
        check_subtasks(subtasks)
        return subtasks


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


def _named(value: Any, values: Mapping[str, str]) -> Any:
    """The value with every `@name@` in it replaced."""
    match value:
        case str():
            return _PLACE.sub(lambda found: values.get(found[1], found[0]), value)
        case dict():
            return {key: _named(each, values) for key, each in value.items()}
        case list() | tuple():
            return [_named(each, values) for each in value]
    return value
