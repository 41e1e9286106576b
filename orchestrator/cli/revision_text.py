"""Printing the history of a step's revisions (S0.94)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console

from orchestrator.cli.tables import first_line, moment, plain

if TYPE_CHECKING:  # avoids loading SQLAlchemy: `--help` is quick
    from orchestrator.views.steps import RevisionView, StepView


def show_history(console: Console, view: "StepView") -> None:
    """Print each list of subtasks of the step: its author, time, reason and result.

    A step without revisions has no further history to print.
    """
    if len(view.revisions) == 1:
        return
    before: frozenset[str] = frozenset()
    for revision in view.revisions:
        tried = [
            a
            for a in view.attempts
            if a.revision == revision.revision and not (a.rollback or a.look)
        ]
        console.print(f"\n[bold]revision {revision.revision}[/] {plain(_heading(revision))}")
        failed = sum(attempt.counted for attempt in tried)
        console.print(f"  [dim]attempts: {len(tried)}, failed: {failed}[/]")
        for line in _lines(revision, before):
            console.print(line, highlight=False)
        before = frozenset(subtask.command for subtask in revision.subtasks)


def _heading(revision: "RevisionView") -> str:
    when = "" if revision.created_at is None else f", {moment(revision.created_at)}"
    by = str(revision.author)
    return f"by {by}{when}" + (f": {revision.reason}" if revision.reason else "")


def _lines(revision: "RevisionView", before: frozenset[str]) -> Iterator[str]:
    """The commands; `+` marks those that were not in the list before."""
    if revision.rollback:
        yield f"  [yellow]undone first, if it ran:[/] {plain(', '.join(revision.rollback))}"
    for dropped in revision.dropped_checks:
        told = f"{first_line(dropped.check, 100)}: {plain(dropped.reason)}"
        yield f"  [yellow]check dropped:[/] {told}"
    for subtask in revision.subtasks:
        is_new = bool(before) and subtask.command not in before
        colour = "green" if is_new else "dim"
        yield f"  [{colour}]{'+' if is_new else ' '} {first_line(subtask.command, 100)}[/]"
