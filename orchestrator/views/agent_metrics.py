"""What agents did in the newest tasks, or in one, with the figures about it (S4.60–S4.67)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.views.agent_figures import (
    AgentFigures,
    AgentRun,
    BudgetSuggestion,
    figures,
    suggest_budget,
)
from orchestrator.views.places import require_task
from shared.domain.agent import DEFAULT_TIME_BUDGET, ExecutionMode
from shared.domain.attempt import AgentResult
from shared.domain.compliance import ComplianceReport
from shared.domain.ids import Ref
from shared.domain.outcome import GREEN, Outcome
from shared.store.attempts import RUNNING
from shared.wire import from_json

_RUNS = text(f"""
    SELECT runs.task_id, runs.target, a.step, a.subtask, a.outcome, a.body,
           planned.body ->> 'key' AS key, planned.body ->> 'step_type' AS kind
    FROM (
        SELECT id FROM tasks WHERE id = coalesce(:task, id) ORDER BY id DESC LIMIT :newest
    ) chosen
    JOIN runs ON runs.task_id = chosen.id
    JOIN attempts a ON a.run_id = runs.id AND a.body IS NOT NULL
         AND a.outcome <> '{RUNNING}' AND NOT a.look AND NOT a.rollback
    LEFT JOIN planned_steps planned ON planned.run_id = a.run_id AND planned.step = a.step
    WHERE CAST(:repository AS text) IS NULL
       OR coalesce(planned.body ->> 'repository', runs.target) = :repository
    ORDER BY a.id
""")  # noqa: S608 - a constant


_UNDECIDED = frozenset(
    {Outcome.NEEDS_INPUT, Outcome.OVER_BUDGET, Outcome.CANCELLED, Outcome.UNKNOWN}
)


@dataclass(frozen=True, slots=True)
class AgentMetrics:
    """The attempts of agents, oldest first, the figures over them, and budgets that would fit.

    There is a suggestion for each runner and kind of work with enough history.
    """

    figures: AgentFigures
    runs: tuple[AgentRun, ...]
    suggestions: tuple[BudgetSuggestion, ...]


def agent_metrics(
    connection: Connection,
    *,
    ref: Ref | None = None,
    newest: int = 100,
    repository: str | None = None,
) -> AgentMetrics:
    """What agents did in one task, or in the newest ones, everywhere or in one repository.

    Raises Rejected for an unknown task.
    """
    task = None if ref is None else require_task(connection, ref)
    rows = connection.execute(_RUNS, {"task": task, "newest": newest, "repository": repository})
    runs = tuple(_run(row) for row in rows)
    return AgentMetrics(figures(runs), runs, tuple(_suggestions(runs)))


def _suggestions(runs: tuple[AgentRun, ...]) -> Iterable[BudgetSuggestion]:
    for kind, runner in sorted({(run.kind, run.runner) for run in runs}):
        found = suggest_budget(runs, kind=kind, runner=runner)
        if found is not None and (found.kind, found.runner) == (kind, runner):
            yield found


def _run(row: Any) -> AgentRun:
    result = from_json(AgentResult, row.body)
    place = Ref(row.task_id, row.step, row.subtask, target=row.target)
    budget = DEFAULT_TIME_BUDGET if result.time_budget is None else result.time_budget
    # A step that its plan gives no name has its number for a key.
    named = row.key is not None and not row.key.isdigit()
    return AgentRun(
        task=row.key if named else f"T{row.task_id}.{row.step}",
        place=str(place),
        runner=result.runner,
        kind=row.kind or "task",
        mode=result.mode or ExecutionMode.INTERACTIVE,
        asked=result.questions,
        time_actual=(result.ended_at - result.started_at).total_seconds(),
        time_budget=budget,
        compliant=ComplianceReport(result.violations).compliant,
        succeeded=row.outcome in GREEN,
        stuck=result.stuck,
        undecided=row.outcome in _UNDECIDED,
    )
