"""Plans that the journeys carry out."""

from collections.abc import Sequence

from shared.domain.author import Author, PlanningRole
from shared.domain.plan import Plan, Recovery, Step, Subtask
from tests.fakes.model_server import Says
from tests.unit.planning.given import detail_answer, plan_answer, step_answer, subtask_answer

RUNBOOK = Author(PlanningRole.SUBTASK_PLANNER, "runbook")
BY_HAND = Author(PlanningRole.HUMAN, "human")


def step(
    commands: Sequence[str],
    *,
    ordinal: int = 1,
    author: Author = BY_HAND,
    recovery: Recovery = Recovery.RETRY,
    depends_on: tuple[int, ...] = (),
    check: str | None = None,
) -> Step:
    """A step of those commands, each needing the one before it; the last one has the check."""
    subtasks = tuple(
        Subtask(
            number,
            f"c{number}",
            command,
            command,
            check=check if number == len(commands) else None,
            needs=(f"c{number - 1}",) if number > 1 else (),
        )
        for number, command in enumerate(commands, start=1)
    )
    return Step(
        ordinal,
        f"s{ordinal}",
        f"step {ordinal}",
        "",
        author,
        depends_on=depends_on,
        recovery=recovery,
        subtasks=subtasks,
    )


def plan(*steps: Step) -> Plan:
    """A plan of those steps."""
    return Plan(steps)


def appending(ledger: str, count: int, pause: float = 0.05) -> list[str]:
    """Commands that each append their number to a file, outside everything that is tested."""
    return [f"sleep {pause}; echo {number} >> '{ledger}'" for number in range(1, count + 1)]


def postgresql_as_planned() -> tuple[Says, Says]:
    """What a planner first makes of "Install PostgreSQL": the plan and its one step (S0.89)."""
    plan = plan_answer(step_answer("postgresql", title="Install PostgreSQL"))
    step = detail_answer(
        subtask_answer("a", "apt update"),
        subtask_answer("b", "apt install postgresql", needs=["a"]),
        subtask_answer("c", "systemctl enable postgresql"),
        subtask_answer("d", "systemctl start postgresql", needs=["c"]),
    )
    return Says(plan), Says(step)
