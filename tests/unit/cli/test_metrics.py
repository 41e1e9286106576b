"""How the figures about agents are shown."""

import io
from dataclasses import replace

from rich.console import Console

from orchestrator.cli.metrics_command import _show
from orchestrator.views.agent_figures import AgentRun, BudgetSuggestion, figures
from orchestrator.views.agent_metrics import AgentMetrics
from shared.domain.agent import ExecutionMode

RUN = AgentRun(
    task="db-schema",
    place="T1.1.1@app",
    runner="claude-code",
    kind="task",
    mode=ExecutionMode.AUTONOMOUS,
    asked=0,
    time_actual=42 * 60,
    time_budget=45 * 60,
    compliant=True,
    succeeded=True,
)


def shown(*runs: AgentRun, suggested: tuple[BudgetSuggestion, ...] = ()) -> list[str]:
    """The lines that a person reads."""
    console = Console(file=io.StringIO(), width=200)
    _show(console, AgentMetrics(figures(runs), runs, suggested))
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_without_agents_it_says_so() -> None:
    assert shown() == ["no agent has made an attempt yet"]


def test_each_figure_has_its_line() -> None:
    """S4.60–S4.64, S4.58."""
    other = replace(RUN, place="T1.2.1@app", asked=1, succeeded=False, stuck=1)
    suggestion = BudgetSuggestion(900.0, "task", "claude-code", 7)
    assert shown(RUN, other, other, suggested=(suggestion,)) == [
        "3 attempts of 2 tasks",
        "asked nobody, as they were told: 50% of the tasks",
        "within the time budget: 100% of the attempts; half of them used up to 93% of it",
        "found stuck: 2 times, in 50% of the tasks",
        "tried more than once: 50% of the tasks",
        "runner       work  succeeded",
        "claude-code  task  1/3        33%",
        "time budget for task by claude-code: 15 minutes would fit, "
        "after 7 attempts that succeeded",
    ]


def test_what_nobody_can_tell_has_no_line() -> None:
    silent = replace(RUN, mode=ExecutionMode.INTERACTIVE)
    assert not [line for line in shown(silent) if "asked nobody" in line]
