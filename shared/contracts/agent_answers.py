"""What a planner says of the work of an agent, and how it is offered where there are repositories.

The fields are part of every answer's form, but in no schema: `offer_agents` puts them there.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from shared.contracts.complaints import Document, unknown
from shared.contracts.fields import Goal, Name, Text
from shared.domain.agent import (
    DEFAULT_TIME_BUDGET,
    AgentWork,
    RunnerChoice,
    StuckStrategy,
    Watchdog,
)
from shared.domain.config import LIMITS
from shared.domain.errors import Rejected

MOST_RUNNERS = 5
"""A chain of agents is not longer than this."""

_SEVERAL = 2
_MINUTE = 60.0
_LONGEST = LIMITS["subtask_timeout"][1] / _MINUTE
_COMMAND = (
    " With `agent`, it is the goal of that agent in words instead: what has to be different in the "
    "repository afterwards, with every name and constraint that it needs."
)


class AgentAnswer(Document):
    """A subtask that a coding agent carries out in the repository of its step."""

    runners: Annotated[
        list[Name],
        Field(
            max_length=MOST_RUNNERS,
            description="Of the offered agents, the one to begin with, then those that go on where "
            "it has failed or taken too long; empty for the usual one.",
        ),
    ] = Field(default_factory=list)
    context: Annotated[
        list[Annotated[Text, Field(min_length=1)]],
        Field(
            description="Files that it should read first, from the top of the repository; often "
            "none. One that is not there when the agent begins keeps it from beginning."
        ),
    ] = Field(default_factory=list)
    acceptance: Annotated[
        list[Goal],
        Field(description="What must hold in the end, one sentence each. The check decides."),
    ] = Field(default_factory=list)
    time_budget_minutes: Annotated[
        float,
        Field(
            ge=1,
            le=_LONGEST,
            strict=False,
            allow_inf_nan=False,
            description="How long it may take: generous, but not endless.",
        ),
    ] = DEFAULT_TIME_BUDGET / _MINUTE
    cost_budget_dollars: Annotated[
        float,
        Field(
            ge=0,
            le=LIMITS["agent_cost_budget"][1],
            strict=False,
            allow_inf_nan=False,
            description="What its models may cost in dollars, or 0 for the usual limit.",
        ),
    ] = 0.0

    def work(self) -> AgentWork:
        """The value."""
        names = tuple(dict.fromkeys(self.runners))
        chain = tuple(RunnerChoice(name, place) for place, name in enumerate(names, 1))
        alone = len(chain) < _SEVERAL
        return AgentWork(
            context=tuple(self.context),
            acceptance=tuple(self.acceptance),
            runner=names[0] if names and alone else None,
            runners=() if alone else chain,
            time_budget=self.time_budget_minutes * _MINUTE,
            cost_budget=self.cost_budget_dollars or None,
            watchdog=Watchdog() if alone else Watchdog(strategy=StuckStrategy.NEXT_RUNNER),
        )


def offer_agents(
    schema: Mapping[str, Any], *, repositories: Sequence[str], runners: Sequence[str]
) -> dict[str, Any]:
    """The schema of an answer that may plan the work of agents; unchanged without repositories.

    A step may then name one of the repositories, and a subtask some of the runners.
    """
    if not repositories:
        return dict(schema)
    definitions = dict(schema.get("$defs", {}))
    if "StepAnswer" in definitions:
        place = {
            "type": "string",
            "enum": ["", *repositories],
            "description": "The repository in which the step happens; the empty string for the "
            "target itself. Only there can agents work.",
        }
        definitions["StepAnswer"] = _with(definitions["StepAnswer"], repository=place)
    if "SubtaskAnswer" in definitions and runners:
        form = AgentAnswer.model_json_schema()
        parts = form["properties"]
        named = parts["runners"] | {"items": {"type": "string", "enum": list(runners)}}
        definitions["AgentAnswer"] = _with(form, **{**parts, "runners": named})
        agent = {
            "anyOf": [{"$ref": "#/$defs/AgentAnswer"}, {"type": "null"}],
            "description": "Normally null. Where files of the step's repository have to be written "
            "or changed with understanding, the agent that does it. Its check is a command, or the "
            "empty string for the checks of the repository.",
        }
        command = definitions["SubtaskAnswer"]["properties"]["command"]
        command = command | {"description": command["description"] + _COMMAND}
        definitions["SubtaskAnswer"] = _with(
            definitions["SubtaskAnswer"], command=command, agent=agent
        )
    return {**schema, "$defs": definitions}


def require_offered(named: Mapping[str, str], offered: Collection[str]) -> None:
    """Raise Rejected for a step, by its id, that names a repository which was not offered."""
    for step, name in named.items():
        if name and name not in offered:
            told = unknown(name, offered) if offered else "not offered"
            raise Rejected(f"step {step!r}: the repository {name!r} is {told}", stage="plan")


def _with(form: Mapping[str, Any], **properties: Any) -> dict[str, Any]:
    """The form with these properties, which are required."""
    required = dict.fromkeys((*form.get("required", ()), *properties))
    return {
        **form,
        "properties": {**form["properties"], **properties},
        "required": list(required),
    }
