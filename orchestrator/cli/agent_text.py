"""Printing the work of agents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from orchestrator.cli.tables import in_colour, plain, span
from orchestrator.words.quantities import clock

if TYPE_CHECKING:  # most commands print none of it
    from orchestrator.views.agents import AgentAttempt, AgentLine
    from orchestrator.views.notes import NoteLine
    from shared.domain.agent import AgentWork
    from shared.domain.attempt import AgentResult
    from shared.domain.plan import Subtask
    from shared.domain.transcript import Transcript


def show_work(
    console: Console, work: AgentWork | None, of: str = "", *, check: str | None = None
) -> None:
    """Print what belongs to the goal of an agent; nothing for a command."""
    from orchestrator.words.agents import describe_work

    if work is None:
        return
    if of:
        console.print(f"  [bold]{of}[/] is the work of an agent")
    _show(console, (*describe_work(work), *([("check", check)] if check else [])))


def show_goal(console: Console, subtask: Subtask) -> None:
    """Print the work of an agent as its plan has it; nothing for a command."""
    from orchestrator.words.agents import describe_work

    if subtask.agent is None:
        return
    console.print(f"  {subtask.ordinal}. {plain(subtask.title)} [dim](the work of an agent)[/]")
    goal = " ".join(subtask.command.split())
    check = subtask.check or "none, so it is done when the agent says so"
    _show(console, (("goal", goal), *describe_work(subtask.agent), ("check", check)))


def show_result(
    console: Console, result: AgentResult | None, agent: AgentLine | None = None
) -> None:
    """Print what an agent did; nothing for a command."""
    from orchestrator.words.agents import describe_result

    if result is not None:
        _show(console, describe_result(result, agent))


def show_agents(console: Console, attempts: Sequence[AgentAttempt]) -> None:
    """Print a line or two for each attempt of an agent, and nothing if there is none."""
    from orchestrator.words.agents import describe_attempt

    for each in attempts:
        head = f"[bold]{each.ref}[/] {in_colour(each.outcome)} {span(each.seconds)}"
        console.print(f"{head}  {plain(describe_attempt(each))}", highlight=False)


def show_transcript(console: Console, transcript: Transcript, *, whole: bool) -> None:
    """Print what an agent said and did."""
    from orchestrator.words.transcripts import tell_transcript

    for line in tell_transcript(transcript, whole=whole):
        console.print(plain(line), highlight=False)


def show_notes(console: Console, noted: Iterable[NoteLine], of: str = "") -> None:
    """Print what was noted while an agent worked, `of` before each line."""
    from orchestrator.words.notes import describe

    for each in noted:
        text = plain(describe(each.note))
        console.print(f"     [dim]{of}{clock(each.at)}[/] {text}", highlight=False)


def _show(console: Console, parts: Iterable[tuple[str, str]]) -> None:
    for name, text in parts:
        console.print(f"     [dim]{name}:[/] {plain(text)}", highlight=False)
