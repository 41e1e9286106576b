"""The bundle: the evidence of a step, as its planner receives it (S0.62–S0.70)."""

from dataclasses import dataclass, field
from enum import StrEnum

from shared.domain.agent import AgentWork
from shared.domain.cause import Cause

REQUEST = "Revise the step plan and propose alternatives, additional diagnostics or recovery steps."
"""S0.70, word for word what every bundle asks."""


@dataclass(frozen=True, slots=True)
class LoggedAgent:
    """What an agent did in an attempt; `cost` is in dollars, None where nobody knows it.

    `changed_files` differ from the commit that it began with, whatever it says itself. It took
    `seconds` of its `time_budget`; `ended_by` says who or what ended it, None for itself. `stuck`
    counts how often it was found without progress, `violations` are those of the protocol, and
    `tree` is the git tree that it left, from which the next attempt goes on.
    """

    runner: str
    status: str
    changed_files: tuple[str, ...]
    tokens: int
    cost: str | None
    model: str = ""
    seconds: float | None = None
    time_budget: float | None = None
    ended_by: str | None = None
    stuck: int = 0
    violations: tuple[str, ...] = ()
    question: str = ""
    tree: str | None = None


@dataclass(frozen=True, slots=True)
class LoggedAttempt:
    """One attempt in the log: its text is already safe and capped; times are ISO 8601 in UTC.

    A `rollback` undid what the subtask of that number had done under an earlier revision.
    `left_running` says in words what its command left running on the host. With `agent`, its
    command is a goal, and `stdout` is what that agent says of its work.
    """

    ref: str
    subtask: int
    command: str
    outcome: str
    exit_code: int | None
    stdout: str
    stderr: str
    retry_count: int
    started_at: str
    ended_at: str
    correction: str | None = None
    reason: str = ""
    check_command: str | None = None
    check_exit_code: int | None = None
    check_output: str = ""
    rollback: bool = False
    left_running: str = ""
    agent: LoggedAgent | None = None


class Progress(StrEnum):
    """How far a step got with a subtask, where its last attempt's outcome does not say it."""

    DONE = "done"
    NOT_REACHED = "not reached"


@dataclass(frozen=True, slots=True)
class LoggedSubtask:
    """A subtask as it was planned, in order (S0.65); `ran` says that its command was started.

    `status` is a `Progress`, or the outcome of its last attempt. With `agent`, its command is the
    goal of an agent.
    """

    ordinal: int
    key: str
    title: str
    command: str
    check: str | None
    timeout: float
    preconditions: tuple[str, ...]
    needs: tuple[str, ...]
    status: str
    critical: bool = False
    rollback: str | None = None
    idempotent: bool = False
    kind: str = "command"
    ran: bool = False
    agent: AgentWork | None = None


@dataclass(frozen=True, slots=True)
class Bundle:
    """Everything a planner needs to revise a step.

    `snapshot` maps a probe's name (disk, memory, services, ports, …) to its text; `hypotheses`
    lists what the executor already tried (S0.69); `failed_assumptions` lists assumptions of the
    planner that proved wrong (S0.51). `host` says how the machine is reached and as which account,
    `config` which settings limit a plan (S0.52, S0.68), and `plan` where the other steps of the
    task stand. `causes` are what the host says is wrong around the failed commands, those most
    likely to explain the failure first. `rejections` say why deliveries of the step came back.
    """

    task_ref: str
    prompt: str
    improved_prompt: str | None
    target: str
    step_ref: str
    step_title: str
    step_instruction: str
    revision: int
    reason: str
    subtasks: tuple[LoggedSubtask, ...]
    attempts: tuple[LoggedAttempt, ...]
    earlier_revisions: tuple[str, ...] = ()
    snapshot: dict[str, str] = field(default_factory=dict)
    failed_assumptions: tuple[str, ...] = ()
    hypotheses: tuple[str, ...] = ()
    config: dict[str, str] = field(default_factory=dict)
    host: dict[str, str] = field(default_factory=dict)
    plan: tuple[str, ...] = ()
    causes: tuple[Cause, ...] = ()
    rejections: tuple[str, ...] = ()
    request: str = REQUEST
