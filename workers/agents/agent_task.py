"""What one attempt of an agent is asked to do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.domain.agent import (
    DEFAULT_TIME_BUDGET,
    Compliance,
    ExecutionMode,
    Watchdog,
)
from shared.domain.attempt import AgentResult
from shared.domain.attempt_notes import EntryReason
from workers.agents.runners.port import Resumed
from workers.agents.task_text import Assignment
from workers.passes.means import Try


@dataclass(frozen=True, slots=True)
class AgentTask:
    """What one attempt is asked to do, and by which runner; `timeout` is in seconds.

    `name` is what people know the runner by, `command` what starts it, None for its usual program.
    `key` is what people call the work; its budgets (0: no dollars) and `compliance` are the plan's.
    `home` is the key of the attempt whose home it gets, None for its own. `earlier` is what agents
    have done at it before, oldest first, `after` who worked last, and `entry` why its runner is
    entered. `form` is the JSON Schema of its answer, None for that of a deliverable.
    """

    this: Try
    assignment: Assignment
    runner: str
    name: str
    timeout: float
    command: str | None = None
    protocol: str = ""
    mode: ExecutionMode | None = None
    time_budget: float = DEFAULT_TIME_BUDGET
    cost_budget: float = 0.0
    compliance: Compliance = field(default_factory=Compliance)
    key: str = ""
    allowed_tools: tuple[str, ...] | None = None
    resumed: Resumed | None = None
    home: str | None = None
    earlier: tuple[AgentResult, ...] = ()
    entry: EntryReason = EntryReason.FIRST
    after: str | None = None
    watchdog: Watchdog = field(default_factory=lambda: Watchdog(enabled=False))
    form: Mapping[str, Any] | None = None
