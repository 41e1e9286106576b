"""The policy that a task runs under: what an operator may set, with its default and its limits."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any


class FixMemory(StrEnum):
    """What the memory of fixes does: nothing, give hints to planners, or act where it is safe.

    Older versions had a switch: `true` reads as `auto`, `false` as `off`.
    """

    OFF = "off"
    HINT = "hint"
    AUTO = "auto"

    @classmethod
    def _missing_(cls, value: object) -> "FixMemory | None":
        if isinstance(value, bool):
            return cls.AUTO if value else cls.OFF
        return None


@dataclass(frozen=True, slots=True)
class Policy:
    """The `agent` scope of the configuration (S0.9–S0.17); a task keeps its own.

    Spans are in seconds. `task_cost_cap` and `agent_cost_budget` are in dollars; 0
    means none.
    """

    taskmaster_enabled: bool = False
    error_threshold_per_step: int = 4
    max_retries_per_command: int = 2
    auto_correction_enabled: bool = True
    send_to_planner_after_threshold: bool = True
    hold_bundles: bool = False
    targeted_evidence: bool = True
    human_escalation_threshold: int = 3
    forbidden_commands: tuple[str, ...] = ()
    dry_run_mode: bool = False
    max_retry_count: int = 3
    retry_delay: float = 1.0
    max_transient_failures: int = 8
    subtask_timeout: float = 300.0
    check_timeout: float = 30.0
    taskmaster: str = "anthropic"
    planner: str = "anthropic"
    subtask_planner: str = "anthropic"
    autonomy: str = "ask"
    approval_ttl: float = 86_400.0
    task_cost_cap: float = 5.0
    agent_cost_budget: float = 0.0
    fix_memory: FixMemory = FixMemory.AUTO
    retry_strategy: str = "fixed"
    retry_jitter: float = 0.25
    look_rounds: int = 2
    detail_steps: str = "at_once"
    deliver: bool = False
    project: bool = False
    max_delivery_attempts: int = 3
    checkpoint: str = "at_end"
    accept_at_once: int = 4

    def __post_init__(self) -> None:
        """Read `fix_memory` as settings and older versions wrote it."""
        object.__setattr__(self, "fix_memory", FixMemory(self.fix_memory))


LIMITS: dict[str, tuple[float, float]] = {
    "error_threshold_per_step": (1, 1000),
    "max_retries_per_command": (0, 20),
    "human_escalation_threshold": (0, 100),
    "max_retry_count": (1, 100),
    "retry_delay": (0, 3600),
    "max_transient_failures": (0, 1000),
    "subtask_timeout": (0.1, 86_400),
    "check_timeout": (0.1, 3600),
    "approval_ttl": (1, 604_800),
    "task_cost_cap": (0, 100_000),
    "agent_cost_budget": (0, 100_000),
    "retry_jitter": (0, 1),
    "look_rounds": (0, 10),
    "max_delivery_attempts": (1, 100),
    "accept_at_once": (1, 100),
}
"""Smallest and largest value of each numeric key, both allowed."""


class ModelProvider(StrEnum):
    """Who runs the models, and whose protocol they are asked in."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    BEDROCK = "bedrock"
    BEDROCK_MANTLE = "bedrock-mantle"
    VERTEX = "vertex"
    FOUNDRY = "foundry"


MODEL_PROVIDERS = tuple(provider.value for provider in ModelProvider)

BACKENDS = (*MODEL_PROVIDERS, "runbook", "human")
"""Who can plan."""

TASKMASTERS = MODEL_PROVIDERS
"""Who can improve a prompt: not a library, which knows its own jobs only, nor a person, who wrote
it."""

ASK, AUTO, PLAN = AUTONOMIES = ("ask", "auto", "plan")
"""What a task does when it needs a person's approval: start nothing else until the person answers,
go on with whatever does not depend on it, or start only after its whole plan is approved."""

FIXED, BY_CLASS, MODEL = RETRY_STRATEGIES = ("fixed", "by_class", "model")
"""Who decides whether a failed step is tried again: a count, the class of its error, its planner
(S1.32, S1.35)."""

AT_ONCE, IN_TURN = DETAIL_STEPS = ("at_once", "in_turn")
"""When steps get their subtasks: all of them before anything runs, or each when what it needs is
done, on each target by itself."""

AT_END, BY_HAND = CHECKPOINTS = ("at_end", "by_hand")
"""When what was accepted is published: once nothing more is at work, or when a person says so."""


def details_in_turn(policy: Policy) -> bool:
    """Whether each step is detailed when its turn comes.

    Not where a person details, who does so in one go, and not where a person is to approve every
    command of the plan before the first one runs.
    """
    by_model = policy.subtask_planner != "human" and policy.autonomy != PLAN
    return policy.detail_steps == IN_TURN and by_model


CHANGEABLE = frozenset(
    {
        "max_retry_count",
        "retry_delay",
        "retry_jitter",
        "retry_strategy",
        "human_escalation_threshold",
        "max_transient_failures",
        "send_to_planner_after_threshold",
    }
)
"""Settings that can be changed for a task that is under way (S1.24): limits on later decisions,
never rules about what may run."""

Value = bool | int | float | str
"""The value of such a limit."""


def union(floor: tuple[str, ...], forbidden: tuple[str, ...]) -> tuple[str, ...]:
    """The entries of both lists, each once, in their order."""
    return tuple(dict.fromkeys((*floor, *forbidden)))


def with_limits(policy: Policy, changes: Mapping[str, Value]) -> Policy:
    """The policy with these limits; what is not `CHANGEABLE` stays as it is."""
    known: Mapping[str, Any] = {k: v for k, v in changes.items() if k in CHANGEABLE}
    return replace(policy, **known)
