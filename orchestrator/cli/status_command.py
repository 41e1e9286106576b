"""`replan status`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import first_line, listing, next_step, plain, span
from shared.domain.jobs import JobKind
from shared.domain.next_step import NextStep

if TYPE_CHECKING:  # SQLAlchemy loads when the database is needed
    from orchestrator.acts.status import Overview
    from orchestrator.views.processes import QueueLine

MOST: Final = 5
"""Lines of each part of the screen whose length depends on what there is."""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    add(app, "status", example="replan status")(status)


def status(call: Invocation) -> Result:
    """Show on one screen who works, what waits, what waits for you, and what is wrong with that."""
    from orchestrator.acts.status import look_at_status

    found = look_at_status(call.caller)
    return Result("status", found, lambda console: _show(console, found), items=(found,))


def _show(console: Console, found: "Overview") -> None:
    from orchestrator.cli.processes_text import process_rows
    from orchestrator.words.postponed import describe as describe_postponed

    console.print(_headline(found), highlight=False)
    every = (*found.coordinators, *found.workers)
    if every:
        console.print(process_rows(every[: 2 * MOST], found.now))
        _tell_more(console, len(every) - 2 * MOST, NextStep.of("worker list"))
    console.print()
    console.print(
        listing(
            ("queue", "workers", "waiting", "oldest", "in hand", "later", "unread"),
            [_queue(each) for each in found.queues],
        )
    )
    for each in found.put_off[:MOST]:
        told = f"[yellow]{plain(each.ref)}[/] {plain(describe_postponed(each))}"
        console.print(told, highlight=False)
        if each.work is JobKind.EXECUTE and each.until is not None:
            next_step(console, NextStep.of("attempt run", each.ref))
    _tell_more(console, len(found.put_off) - MOST, NextStep.of("watch", once=True))
    for line in _rest(found):
        console.print(line, highlight=False)
    _show_questions(console, found)
    _show_troubles(console, found)


def _headline(found: "Overview") -> str:
    at_work = ", ".join(f"{count} {phase}" for phase, count in found.tasks.items())
    word = "[green]running[/]" if found.running else "[red]not running[/]"
    return f"replan is {word}; tasks: {at_work or 'none at work'}"


def _queue(line: "QueueLine") -> tuple[str, ...]:
    workers = "?" if line.workers is None else str(line.workers)
    return (
        line.queue,
        f"[red]{workers}[/]" if line.workers == 0 else workers,
        str(line.waiting),
        span(line.oldest),
        str(line.in_hand),
        str(line.later),
        "?" if line.messages is None else str(line.messages),
    )


def _rest(found: "Overview") -> Iterator[str]:
    if found.reports:
        oldest = span(found.oldest_report)
        yield f"reports that no coordinator has read: {found.reports}, the oldest for {oldest}"
    if found.broker is not None:
        yield f"[red]✗[/] broker: {plain(found.broker)}"
    for host in found.disabled:
        yield f"[red]✗[/] {plain(host.name)} is disabled: {first_line(host.reason)}"


def _show_questions(console: Console, found: "Overview") -> None:
    from orchestrator.words.failures import cause

    if not found.questions:
        console.print("nothing waits for you")
        return
    console.print(f"\n[yellow]waiting for you: {len(found.questions)}[/]", highlight=False)
    rows = [
        (
            each.id,
            plain(each.ref),
            plain(each.kind.replace("_", " ")),
            span((found.now - each.since).total_seconds()),
            first_line(each.reason if each.failure is None else cause(each.failure), 36),
        )
        for each in found.questions[:MOST]
    ]
    console.print(listing(("question", "about", "kind", "for", "why"), rows))
    next_step(console, NextStep.of("intervention list"))


def _show_troubles(console: Console, found: "Overview") -> None:
    for each in found.troubles[:MOST]:
        console.print(f"[red]✗[/] {plain(each.reason)}", highlight=False)
        next_step(console, each.next_step)
    _tell_more(console, len(found.troubles) - MOST, NextStep.of("doctor"))


def _tell_more(console: Console, number: int, further: NextStep) -> None:
    if number > 0:
        console.print(f"[dim]and {number} more[/]", highlight=False)
        next_step(console, further)
