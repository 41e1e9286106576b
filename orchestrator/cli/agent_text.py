"""Printing the work of agents."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console

from orchestrator.cli.tables import plain
from orchestrator.words.quantities import clock
from shared.domain.agent import AgentWork
from shared.domain.attempt import AgentResult

if TYPE_CHECKING:  # slow to load
    from orchestrator.views.notes import NoteLine


def show_work(console: Console, work: AgentWork | None, of: str = "") -> None:
    """Print what belongs to the goal of an agent; nothing for a command."""
    from orchestrator.words.agents import describe_work

    if work is None:
        return
    if of:
        console.print(f"  [bold]{of}[/] is the work of an agent")
    _show(console, describe_work(work))


def show_result(console: Console, result: AgentResult | None) -> None:
    """Print what an agent did; nothing for a command."""
    from orchestrator.words.agents import describe_result

    if result is not None:
        _show(console, describe_result(result))


def show_notes(console: Console, noted: "Iterable[NoteLine]") -> None:
    """Print what was noted while an agent worked."""
    from orchestrator.words.notes import describe

    for each in noted:
        console.print(
            f"     [dim]{clock(each.at)}[/] {plain(describe(each.note))}", highlight=False
        )


def _show(console: Console, parts: Iterable[tuple[str, str]]) -> None:
    for name, text in parts:
        console.print(f"     [dim]{name}:[/] {plain(text)}", highlight=False)
