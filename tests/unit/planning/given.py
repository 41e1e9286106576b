"""Builds the inputs of the planners' tests: requests, a bundle and usable answers."""

from dataclasses import replace
from typing import Any

from shared.domain.author import Author, PlanningRole
from shared.domain.bundle import Bundle, LoggedAttempt, LoggedSubtask
from shared.domain.config import Policy
from shared.domain.plan import Plan, Revision, Step, Subtask
from workers.planning import DetailRequest, PlanRequest, ReplanRequest, ReviseRequest

PROMPT = "Install PostgreSQL and see that it answers"
IMPROVED = "Install the PostgreSQL server, enabled at boot, and see that it answers on port 5432"
TARGETS = ("web1: Debian 12, account deploy, no root",)
POLICY = Policy(forbidden_commands=("reboot", "mkfs*"))
PLANNED_BY_MODEL = Author(PlanningRole.SUBTASK_PLANNER, "anthropic")

SUBTASKS = (
    Subtask(1, "update", "Refresh the lists", "apt update"),
    Subtask(2, "install", "Install it", "apt install -y postgresql", needs=("update",)),
)
INSTALL = Step(1, "install", "Install it", "Install the server.", PLANNED_BY_MODEL)
VERIFY = Step(2, "verify", "See that it answers", "Ask it.", PLANNED_BY_MODEL, depends_on=(1,))
PLAN = Plan((INSTALL, VERIFY), "Install, then look")

PLAN_REQUEST = PlanRequest(PROMPT, TARGETS, POLICY)
DETAIL_REQUEST = DetailRequest(PROMPT, TARGETS, POLICY, PLAN, INSTALL)


def attempt(number: int = 1, **changes: Any) -> LoggedAttempt:
    """A failed attempt to install."""
    given = LoggedAttempt(
        ref=f"T7.1.2#{number}@web1",
        subtask=2,
        command="apt install -y postgresql",
        outcome="failed",
        exit_code=100,
        stdout="Reading package lists...\n",
        stderr="E: Unable to locate package postgresql\n",
        retry_count=number - 1,
        started_at="2026-01-01T12:00:00+00:00",
        ended_at="2026-01-01T12:00:01+00:00",
    )
    return replace(given, **changes)


def bundle(**changes: Any) -> Bundle:
    """The evidence of a step that has failed."""
    given = Bundle(
        task_ref="T7",
        prompt=PROMPT,
        improved_prompt=None,
        target="web1",
        step_ref="T7.1@web1",
        step_title=INSTALL.title,
        step_instruction=INSTALL.instruction,
        revision=0,
        reason="4 errors, the threshold is 4",
        subtasks=tuple(
            LoggedSubtask(
                ordinal=s.ordinal,
                key=s.key,
                title=s.title,
                command=s.command,
                check=s.check,
                timeout=s.timeout,
                preconditions=s.preconditions,
                needs=s.needs,
                status="done" if s.ordinal == 1 else "failed",
            )
            for s in SUBTASKS
        ),
        attempts=tuple(attempt(number) for number in (1, 2, 3, 4)),
        snapshot={"disk": "/dev/sda1 20G 4G 16G", "memory": "Mem: 2000 500 1500"},
        failed_assumptions=("package postgresql is in the configured repositories",),
        hypotheses=("ran apt update before the install",),
        config={"forbidden_commands": "('reboot', 'mkfs*')", "error_threshold_per_step": "4"},
    )
    return replace(given, **changes)


def revise_request(evidence: Bundle | None = None, **changes: Any) -> ReviseRequest:
    """A request to revise the step."""
    failed = Revision(1, 0, PLANNED_BY_MODEL, SUBTASKS)
    given = ReviseRequest(evidence or bundle(), POLICY, INSTALL, SUBTASKS, earlier=(failed,))
    return replace(given, **changes)


REPLAN_REQUEST = ReplanRequest(
    PROMPT,
    TARGETS,
    POLICY,
    PLAN,
    {1: "replanning", 2: "not_started"},
    INSTALL,
    bundle(),
    "The author of the step says: there is no such package.",
)


def step_answer(key: str, **changes: Any) -> dict[str, Any]:
    """A step as a model gives it."""
    given: dict[str, Any] = {
        "id": key,
        "title": f"Title of {key}",
        "instruction": f"Bring about {key}.",
        "depends_on": [],
        "parallel_group": "",
        "on_failure": "stop",
    }
    return given | changes


def subtask_answer(key: str, command: str = "true", **changes: Any) -> dict[str, Any]:
    """A subtask as a model gives it."""
    given: dict[str, Any] = {
        "id": key,
        "title": f"Title of {key}",
        "command": command,
        "check": "",
        "timeout_seconds": 60,
        "preconditions": [],
        "needs": [],
        "critical": False,
        "rollback": "",
        "idempotent": True,
    }
    return given | changes


def plan_answer(*steps: dict[str, Any], impossible: str = "") -> dict[str, Any]:
    """A plan as a model gives it."""
    return {
        "looks": [],
        "considerations": "",
        "summary": "As asked",
        "steps": list(steps),
        "impossible": impossible,
    }


def detail_answer(*subtasks: dict[str, Any], impossible: str = "") -> dict[str, Any]:
    """The subtasks of a step as a model gives them."""
    return {"looks": [], "considerations": "", "subtasks": list(subtasks), "impossible": impossible}


def revision_answer(*subtasks: dict[str, Any], impossible: str = "") -> dict[str, Any]:
    """A revision as a model gives it."""
    return {
        "looks": [],
        "diagnosis": "The repository is missing: E: Unable to locate package.",
        "subtasks": list(subtasks),
        "rollback": [],
        "dropped_checks": [],
        "impossible": impossible,
    }
