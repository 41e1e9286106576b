"""What belongs to the goal of an agent, as a plan file says it."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from shared.contracts.complaints import Document
from shared.contracts.fields import Dollars, Goal, Key, Span, Text
from shared.domain.agent import (
    DEFAULT_TIME_BUDGET,
    AgentWork,
    Compliance,
    ExecutionMode,
    Progress,
    RunnerChoice,
    StuckStrategy,
    Trigger,
    Watchdog,
)

Line = Annotated[Text, Field(min_length=1)]


def _below(path: str) -> str:
    if path.startswith(("/", "~")) or ".." in path.split("/") or not path.strip("./ "):
        raise PydanticCustomError(
            "context",
            "{given} is not a file of the repository: write it from its root, without '..'",
            {"given": repr(path)[:80]},
        )
    return path


File = Annotated[Line, AfterValidator(_below)]
"""A file of a repository, from its root."""


class RunnerDocument(Document):
    """One runner of a fallback chain (S4.50)."""

    runner: Annotated[Key, Field(description="Its name.")]
    priority: Annotated[
        int | None, Field(description="The lowest is tried first; its place if left out.")
    ] = None
    timeout: Annotated[
        Span | None, Field(description="How long it may take; the time budget if left out.")
    ] = None
    trigger: Annotated[
        Literal["on_failure", "on_timeout"] | None,
        Field(description="When it takes over from the one before it; in both cases if left out."),
    ] = None
    command: Annotated[
        Line | None,
        Field(
            description="What starts it, with {task_file} where it reads its task; its usual "
            "program if left out."
        ),
    ] = None
    protocol: Annotated[
        Text | None,
        Field(
            description="What it is told about work without a person; replan's own text if left "
            "out, nothing if empty."
        ),
    ] = None
    alias: Annotated[Key | None, Field(description="What people call it.")] = None

    def choice(self, place: int) -> RunnerChoice:
        """The value, at that place of the chain."""
        return RunnerChoice(
            self.runner,
            place if self.priority is None else self.priority,
            self.timeout,
            None if self.trigger is None else Trigger(self.trigger),
            self.command,
            self.protocol,
            self.alias,
        )


class WatchdogDocument(Document):
    """How an agent is watched (S4.21–S4.24)."""

    enabled: bool = True
    check_interval: Annotated[
        Span, Field(description="Without progress for longer than this, it is stuck.")
    ] = 300.0
    progress_indicators: Annotated[
        list[Literal["files_changed", "commits", "log_activity"]] | None,
        Field(description="What counts as progress; all of it if left out."),
    ] = None
    escalation_strategy: Annotated[
        Literal["notify", "kill_and_retry", "next_runner", "escalate_to_codex"],
        Field(
            description="What follows: a warning, another try, or the next runner "
            "(`escalate_to_codex` means the same)."
        ),
    ] = "notify"

    def watchdog(self) -> Watchdog:
        """The value."""
        named = map(Progress, self.progress_indicators or ())
        return Watchdog(
            self.enabled,
            self.check_interval,
            frozenset(Progress if self.progress_indicators is None else named),
            StuckStrategy(self.escalation_strategy),
        )


class ValidationDocument(Document):
    """Whether an attempt is held to the autonomous protocol (S4.25, S4.26)."""

    check_autonomous_compliance: bool = True
    fail_on_violation: bool = False
    fail_on_ask_user: Annotated[bool, Field(description="The same as `fail_on_violation`.")] = False

    def compliance(self) -> Compliance:
        """The value (X10)."""
        return Compliance(
            self.check_autonomous_compliance, self.fail_on_violation or self.fail_on_ask_user
        )


class AgentDocument(Document):
    """The runner of an agent, its limits, and what it is told beside its goal."""

    context: Annotated[
        list[File], Field(description="Files of the repository that it reads first.")
    ] = Field(default_factory=list)
    acceptance: Annotated[
        list[Goal],
        Field(description="What must hold in the end, in words; the check decides."),
    ] = Field(default_factory=list)
    runner: Annotated[
        Key | None, Field(description="Who does it; any that the repository allows if left out.")
    ] = None
    runners: Annotated[
        list[RunnerDocument], Field(description="In place of `runner`: who does it, by priority.")
    ] = Field(default_factory=list)
    execution_mode: Annotated[
        Literal["autonomous", "interactive"] | None,
        Field(description="An autonomous agent must not ask a person."),
    ] = None
    time_budget: Annotated[Span, Field(description="How long an attempt may take.")] = (
        DEFAULT_TIME_BUDGET
    )
    cost_budget: Annotated[
        Dollars | None,
        Field(
            description="What all attempts at it may cost, in dollars; what the policy says if "
            "left out."
        ),
    ] = None
    allowed_tools: Annotated[
        list[Line] | None,
        Field(description="The agent's tools; those that its runner has if left out."),
    ] = None
    watchdog: WatchdogDocument = Field(default_factory=WatchdogDocument)
    validation: ValidationDocument = Field(default_factory=ValidationDocument)

    @model_validator(mode="after")
    def _one_strategy(self) -> "AgentDocument":
        if self.runner is not None and self.runners:
            raise PydanticCustomError(
                "one_strategy", "has both `runner` and `runners`; leave one of them out", {}
            )
        return self

    def work(self) -> AgentWork:
        """The value."""
        mode = self.execution_mode
        return AgentWork(
            context=tuple(self.context),
            acceptance=tuple(self.acceptance),
            runner=self.runner,
            runners=tuple(each.choice(place) for place, each in enumerate(self.runners, 1)),
            mode=None if mode is None else ExecutionMode(mode),
            time_budget=self.time_budget,
            cost_budget=self.cost_budget,
            allowed_tools=None if self.allowed_tools is None else tuple(self.allowed_tools),
            watchdog=self.watchdog.watchdog(),
            compliance=self.validation.compliance(),
        )


def dump_work(work: AgentWork) -> dict[str, Any]:
    """What `AgentDocument` reads as that value; empty if nothing differs from what is usual."""
    said = _data(work)
    usual = _data(AgentWork())
    return {key: value for key, value in said.items() if value != usual[key]}


def _data(work: AgentWork) -> dict[str, Any]:
    return {
        "context": list(work.context),
        "acceptance": list(work.acceptance),
        "runner": work.runner,
        "runners": [_runner(choice) for choice in work.runners],
        "execution_mode": None if work.mode is None else work.mode.value,
        "time_budget": span(work.time_budget),
        "cost_budget": work.cost_budget,
        "allowed_tools": None if work.allowed_tools is None else list(work.allowed_tools),
        "watchdog": _watchdog(work.watchdog),
        "validation": {
            "check_autonomous_compliance": work.compliance.check,
            "fail_on_violation": work.compliance.fail_on_violation,
        },
    }


def _runner(choice: RunnerChoice) -> dict[str, Any]:
    said: dict[str, Any] = {"runner": choice.runner, "priority": choice.priority}
    if choice.timeout is not None:
        said["timeout"] = span(choice.timeout)
    if choice.trigger is not None:
        said["trigger"] = choice.trigger.value
    for key in ("command", "protocol", "alias"):
        if (value := getattr(choice, key)) is not None:
            said[key] = value
    return said


def _watchdog(watchdog: Watchdog) -> dict[str, Any]:
    return {
        "enabled": watchdog.enabled,
        "check_interval": span(watchdog.check_interval),
        "progress_indicators": [each.value for each in Progress if each in watchdog.indicators],
        "escalation_strategy": watchdog.strategy.value,
    }


def span(seconds: float) -> float:
    """The seconds as a person writes them: 300, not 300.0."""
    return int(seconds) if seconds.is_integer() else seconds
