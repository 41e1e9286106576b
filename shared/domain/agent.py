"""What a coding agent is asked to do, and within which limits; spans in seconds."""

from dataclasses import dataclass, field
from enum import StrEnum

DEFAULT_TIME_BUDGET = 3600.0
"""Seconds that an agent has for one attempt where its subtask does not say (S4.18, X12)."""


COMMAND_RUNNER = "command"
"""The runner that is any program."""

NEEDS_COMMAND = frozenset({"acp", COMMAND_RUNNER})
"""The runners that a plan has to say how to start."""

RUNNERS = ("claude-code", "codex", "mini-swe-agent", *sorted(NEEDS_COMMAND))
"""The runners that replan knows."""


STARTABLE = tuple(runner for runner in RUNNERS if runner not in NEEDS_COMMAND)
"""Those that are started by their name alone, so that a model can plan with them."""


HOLDS_TOOLS = ("claude-code",)
"""Those that can be held to a list of allowed tools."""

REVIEWERS = ("claude-code", "codex")
"""Those that can review: they are started by their name, and give their answer in a given form."""


class ExecutionMode(StrEnum):
    """Whether an agent may ask a person while it works (S4.6, S4.48)."""

    AUTONOMOUS = "autonomous"
    INTERACTIVE = "interactive"


class Trigger(StrEnum):
    """When a runner takes over from the one before it (S4.53, X11)."""

    ON_FAILURE = "on_failure"
    ON_TIMEOUT = "on_timeout"


class StuckStrategy(StrEnum):
    """What a watchdog does with an agent that makes no progress (S4.24).

    `escalate_to_codex`, the seed's word for the last one, is read as it (X15).
    """

    NOTIFY = "notify"
    KILL_AND_RETRY = "kill_and_retry"
    NEXT_RUNNER = "next_runner"

    @classmethod
    def _missing_(cls, value: object) -> "StuckStrategy | None":
        return cls.NEXT_RUNNER if value == "escalate_to_codex" else None


class AgentRemedy(StrEnum):
    """What follows a failed attempt of an agent; it stands where a command has a correction.

    The chain of runners limits them, not the number of corrections (S0.44).
    """

    NEXT_RUNNER = "next_runner"  # another runner goes on
    RESTART = "restart"  # the same one starts again


class Progress(StrEnum):
    """A sign that an agent makes progress (S4.23)."""

    FILES_CHANGED = "files_changed"
    COMMITS = "commits"
    LOG_ACTIVITY = "log_activity"


@dataclass(frozen=True, slots=True)
class RunnerChoice:
    """One of the runners of a fallback chain, which are tried by priority, the lowest first.

    `trigger` says when this runner is entered, None for either reason (X11). `timeout` is how long
    it may take, None for the time budget.

    `command` starts it where its usual program does not, `alias` is what its plan calls it.
    `protocol` is the text for work without a person, None for replan's own, empty for none (S4.16).
    """

    runner: str
    priority: int
    timeout: float | None = None
    trigger: Trigger | None = None
    command: str | None = None
    protocol: str | None = None
    alias: str | None = None

    @property
    def name(self) -> str:
        """What people know it by."""
        return self.alias or self.runner


@dataclass(frozen=True, slots=True)
class Watchdog:
    """How an agent is watched: it is stuck after `check_interval` without any of the indicators."""

    enabled: bool = True
    check_interval: float = 300.0
    indicators: frozenset[Progress] = frozenset(Progress)
    strategy: StuckStrategy = StuckStrategy.NOTIFY


@dataclass(frozen=True, slots=True)
class Compliance:
    """Whether an attempt is checked against the autonomous protocol, and fails if it broke it."""

    check: bool = True
    fail_on_violation: bool = False


@dataclass(frozen=True, slots=True)
class AgentWork:
    """What belongs to the goal of an agent; the goal itself is the command of its subtask.

    `context` lists files of the repository that it reads first, `acceptance` what must hold in
    words; the check of the subtask decides. `runner` names the one to use, `runners` a fallback
    chain in its place; with neither, any runner that the repository allows. `mode` is None where
    nobody has said it. `time_budget` is the limit of one attempt. `cost_budget`, in dollars, is
    that of all attempts of the subtask in one revision, whoever makes them: None for what the
    policy says (`agent_cost_budget`). `allowed_tools` are the agent's tools, None for those of its
    runner.
    """

    context: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    runner: str | None = None
    runners: tuple[RunnerChoice, ...] = ()
    mode: ExecutionMode | None = None
    time_budget: float = DEFAULT_TIME_BUDGET
    cost_budget: float | None = None
    allowed_tools: tuple[str, ...] | None = None
    watchdog: Watchdog = field(default_factory=Watchdog)
    compliance: Compliance = field(default_factory=Compliance)

    @property
    def is_autonomous(self) -> bool:
        """Whether it must not ask a person; it may unless somebody has said otherwise."""
        return self.mode is ExecutionMode.AUTONOMOUS

    @property
    def chain(self) -> tuple[RunnerChoice, ...]:
        """The named runners in the order in which they are tried (S4.51); empty for any."""
        if self.runners:
            return tuple(sorted(self.runners, key=lambda choice: choice.priority))
        return () if self.runner is None else (RunnerChoice(self.runner, 1),)
