"""`replan metrics`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import listing, plain
from shared.domain.ids import parse_ref

if TYPE_CHECKING:
    from orchestrator.views.agent_figures import AgentFigures
    from orchestrator.views.agent_metrics import AgentMetrics


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    add(app, "metrics", example="replan metrics --output metrics.jsonl")(metrics)


def metrics(
    call: Invocation,
    ref: Annotated[
        str | None, typer.Argument(metavar="[TASK]", help="Only this task: T12.")
    ] = None,
    *,
    newest: Annotated[
        int, typer.Option(min=1, max=100_000, help="How many tasks, the newest ones.")
    ] = 100,
    file: Annotated[
        Path | None,
        typer.Option("--output", help="Also write a line for each attempt to this new file."),
    ] = None,
) -> Result:
    """Show how coding agents did: questions, time budgets, stuck agents, success and retries."""
    from orchestrator.cli.files import write_new
    from orchestrator.views.agent_figures import metrics_line
    from orchestrator.views.agent_metrics import agent_metrics

    with call.reading() as connection:
        found = agent_metrics(
            connection, ref=None if ref is None else parse_ref(ref), newest=newest
        )
    if file is not None:
        write_new(file, "".join(f"{metrics_line(run)}\n" for run in found.runs))
    return Result("metrics", found, lambda console: _show(console, found), items=found.runs)


def _show(console: Console, found: "AgentMetrics") -> None:
    if not found.runs:
        console.print("no agent has made an attempt yet")
        return
    for line in _lines(found.figures):
        console.print(line, highlight=False)
    rows = [
        (
            plain(each.runner),
            plain(each.kind),
            f"{each.succeeded}/{each.attempts}",
            _share(each.rate),
        )
        for each in found.figures.effectiveness
    ]
    console.print(listing(("runner", "work", "succeeded", ""), rows))
    for each in found.suggestions:
        minutes = f"{each.seconds / 60:.0f}"
        console.print(
            f"time budget for {plain(each.kind)} by {plain(each.runner)}: {minutes} minutes would "
            f"fit, after {each.attempts} attempts that succeeded",
            highlight=False,
        )


def _lines(figures: "AgentFigures") -> Iterator[str]:
    yield f"{figures.attempts} attempts of {figures.tasks} tasks"
    if figures.compliance_rate is not None:
        yield f"asked nobody, as they were told: {_share(figures.compliance_rate)} of the tasks"
    if figures.budget is not None:
        yield (
            f"within the time budget: {_share(figures.budget.within)} of the attempts; "
            f"half of them used up to {_share(figures.budget.used)} of it"
        )
    if figures.stuck_rate is not None:
        yield (
            f"found stuck: {figures.watchdog_triggers} times, in {_share(figures.stuck_rate)} of "
            "the tasks"
        )
    if figures.retry_rate is not None:
        yield f"tried more than once: {_share(figures.retry_rate)} of the tasks"


def _share(share: float) -> str:
    return f"{share:.0%}"
