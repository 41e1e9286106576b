"""The form of a plan that is given by hand, or recorded in a runbook."""

from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from shared.contracts.agentwork import AgentDocument
from shared.contracts.coderesult import FailureOutput
from shared.contracts.complaints import Document
from shared.contracts.fields import Command, Goal, Key, Span, Text
from shared.contracts.planstep import PlanStep
from shared.domain.config import Policy
from shared.domain.plan import Subtask, SubtaskKind, default_needs

PlannerName = Literal[
    "human", "runbook", "anthropic", "openai", "bedrock", "bedrock-mantle", "vertex", "foundry"
]


class SubtaskDocument(Document):
    """One `command` (a plan file may call it `run`), or `goal`, with what belongs to it."""

    id: Annotated[
        Key | None, Field(description="What `needs` names it by; its number if left out.")
    ] = None
    title: Annotated[Text | None, Field(description="The command's first line if left out.")] = None
    run: Annotated[Command | None, Field(description="The command, for /bin/sh.")] = None
    command: Annotated[Command | None, Field(description="The same as `run`.")] = None
    goal: Annotated[
        Goal | None, Field(description="What an agent is to bring about, in words.")
    ] = None
    check: Annotated[
        Command | None,
        Field(description="A command that exits with 0 once the subtask has had its effect."),
    ] = None
    timeout: Annotated[Span | None, Field(description="The policy's timeout if left out.")] = None
    preconditions: Annotated[
        list[Command], Field(description="Commands that must exit with 0 before it runs.")
    ] = Field(default_factory=list)
    needs: Annotated[
        list[Key] | None,
        Field(description="Subtasks that must be done before; the one before it if left out."),
    ] = None
    critical: Annotated[bool, Field(description="A person must approve it before it runs.")] = False
    rollback: Annotated[Command | None, Field(description="The command that undoes it.")] = None
    idempotent: Annotated[
        bool, Field(description="It may be run again when its outcome is not known.")
    ] = False
    kind: Annotated[
        Literal["command", "code", "agent"],
        Field(
            description="A shell command, a Python snippet that sets `result`, or the goal of a "
            "coding agent in a repository."
        ),
    ] = "command"
    agent: Annotated[
        AgentDocument | None,
        Field(description="Of `kind: agent`: who does it, within which limits."),
    ] = None
    failure_output: Annotated[
        FailureOutput | None,
        Field(description="What is said of a snippet that fails without saying why."),
    ] = None

    @model_validator(mode="after")
    def _only_of_code(self) -> "SubtaskDocument":
        if self.failure_output is not None and self.kind != "code":
            raise PydanticCustomError(
                "only_of_code", "has a `failure_output`, which only `kind: code` has", {}
            )
        return self

    @model_validator(mode="after")
    def _only_of_agents(self) -> "SubtaskDocument":
        if self.kind != "agent":
            for key in ("goal", "agent"):
                if getattr(self, key) is not None:
                    raise _fault(f"has `{key}`, which only `kind: agent` has")
            return self
        if self.goal is None:
            raise _fault("has `kind: agent`, and no `goal` that says what the agent is to do")
        for key in ("run", "command"):
            if getattr(self, key) is not None:
                raise _fault(f"has `{key}`, but an agent has a `goal`; a `check` is a command")
        if self.timeout is not None:
            raise _fault("has a `timeout`, but an agent has a `time_budget` under `agent`")
        return self

    @model_validator(mode="after")
    def _one_command(self) -> "SubtaskDocument":
        if self.kind != "agent" and (self.run is None) == (self.command is None):
            raise PydanticCustomError(
                "one_command",
                "has to have either `run` or `command`, which mean the same",
                {},
            )
        return self

    def subtask(self, ordinal: int, needs: tuple[str, ...], policy: Policy) -> Subtask:
        """The value, under its number and with the needs that hold for it."""
        command = self.command or self.run or self.goal or ""
        work = (self.agent or AgentDocument()).work() if self.kind == "agent" else None
        timeout = policy.subtask_timeout if self.timeout is None else self.timeout
        return Subtask(
            ordinal=ordinal,
            key=self.key(ordinal),
            title=first_line(command) if self.title is None else self.title,
            command=command,
            check=self.check,
            timeout=timeout if work is None else work.time_budget,
            preconditions=tuple(self.preconditions),
            needs=needs,
            critical=self.critical,
            rollback=self.rollback,
            idempotent=self.idempotent,
            kind=SubtaskKind(self.kind),
            failure=None if self.failure_output is None else self.failure_output.message,
            agent=work,
        )

    def key(self, ordinal: int) -> str:
        """The name that `needs` uses: the given one, or the number."""
        return str(ordinal) if self.id is None else self.id


class StepDocument(PlanStep):
    """A main step."""

    recovery: Annotated[
        Literal["replan", "retry"] | None,
        Field(description="What follows a failed pass: a revision by the planner, or another try."),
    ] = None
    on_failure: Annotated[
        Literal["stop", "continue"], Field(description="What its failure means for the rest.")
    ] = "stop"
    planner: Annotated[PlannerName | None, Field(description="Who revises this step.")] = None
    subtasks: Annotated[list[SubtaskDocument], Field(min_length=1)]

    def key(self, ordinal: int) -> str:
        """The name that `depends_on` uses: the given one, or the number."""
        return str(ordinal) if self.id is None else self.id


class PlanDocument(Document):
    """A whole plan."""

    summary: Text = ""
    planner: Annotated[
        PlannerName | None,
        Field(
            description="Who revises a step that fails. Left out: nobody, a failed pass is tried "
            "again and then waits for a person."
        ),
    ] = None
    autonomy: Annotated[
        Literal["ask", "auto", "plan"] | None,
        Field(
            description="What an approval holds up: all that has not begun, only what depends on "
            "it, or, before anything runs, the whole plan. Left out: as it is set."
        ),
    ] = None
    steps: Annotated[list[StepDocument], Field(min_length=1)]


class RevisionDocument(Document):
    """The next list of subtasks of a step."""

    subtasks: Annotated[list[SubtaskDocument], Field(min_length=1)]
    rollback: Annotated[
        list[Key],
        Field(
            description="Subtasks of earlier lists whose rollback command is run first, the last "
            "first, if they ran."
        ),
    ] = Field(default_factory=list)


def subtasks_of(documents: list[SubtaskDocument], policy: Policy) -> tuple[Subtask, ...]:
    """The values, numbered in order; a subtask that names no needs gets the one before it (X3)."""
    keys = [document.key(ordinal) for ordinal, document in enumerate(documents, 1)]
    needs = default_needs(
        (key, None if document.needs is None else tuple(document.needs))
        for key, document in zip(keys, documents, strict=True)
    )
    return tuple(
        document.subtask(ordinal, needs[key], policy)
        for ordinal, (key, document) in enumerate(zip(keys, documents, strict=True), 1)
    )


def _fault(told: str) -> PydanticCustomError:
    return PydanticCustomError("of_its_kind", "{told}", {"told": told})


def first_line(command: str, *, longest: int = 60) -> str:
    """The first line of the command that is not blank, shortened: the default title."""
    line = next((line.strip() for line in command.splitlines() if line.strip()), "")
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"
