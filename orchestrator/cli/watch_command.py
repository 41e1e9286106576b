"""`replan watch`: everything at work, live."""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Format, Result, write_line
from orchestrator.cli.session_options import ProjectOption, SessionOption
from orchestrator.cli.tables import first_line, in_colour, listing, plain, span
from orchestrator.envelope import Envelope
from shared.domain.ids import parse_ref
from shared.domain.next_step import NextStep, command_line

if TYPE_CHECKING:  # SQLAlchemy loads when the database is needed
    from orchestrator.views.at_work import AtWork, LiveChange, LiveLine

MOST = 60
"""Lines that are printed at once."""

WHERE = 26
"""Columns of a place on the live screen."""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    add(app, "watch", example="replan watch --session T12@app")(watch)


def watch(
    call: Invocation,
    *,
    session: SessionOption = None,
    project: ProjectOption = None,
    once: Annotated[bool, typer.Option("--once", help="Print what there is now, and end.")] = False,
) -> Result:
    """Show everything at work, from the database alone, until you press Ctrl-C.

    Tasks, steps and what they wait for, jobs with their leases, attempts, deliveries, checkpoints.
    On a terminal it is one screen; elsewhere a line for each change, or JSON with --format jsonl.
    With --format min-json it prints one object, as with --once.
    """
    from orchestrator.acts.watch import watch_all
    from orchestrator.views.at_work import at_work, changes
    from orchestrator.views.places import require_target

    place = None if session is None else parse_ref(session)
    task = None if place is None else place.task
    target = project if place is None or place.target is None else place.target
    with call.reading() as connection:
        require_target(connection, project)
    if once or call.output is Format.MIN_JSON:
        with call.reading() as connection:
            found = at_work(connection, task=task, target=target)
        return Result("watch", found, lambda c: show(c, found), items=changes(None, found))

    screen = _Screen(call)
    with suppress(KeyboardInterrupt), screen:
        watch_all(call.caller, screen.tell, task=task, target=target)
    return Result("watch", items=())


class _Screen:
    """Where changes go: a live table, lines of text, or lines of JSON."""

    def __init__(self, call: Invocation) -> None:
        self._call = call
        live = call.human and call.console.is_terminal
        self._live = (
            Live(console=call.console, refresh_per_second=4, screen=False) if live else None
        )

    def __enter__(self) -> None:
        if self._live is not None:
            self._live.__enter__()

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.__exit__(None, None, None)

    def tell(self, now: "AtWork", changes: Sequence["LiveChange"]) -> None:
        """Show what is at work, or what has changed."""
        if self._live is not None:
            room = self._call.console.height - 3
            self._live.update(Group(_screenful(now, room), Text("Ctrl-C ends this", "dim")))
            return
        for each in changes:
            if self._call.human:
                self._call.console.print(_sentence(now, each), highlight=False)
            else:
                _json_line(self._call, each)


def show(console: Console, found: "AtWork") -> None:
    """Print everything at work: a table on a terminal, else a line for each thing."""
    if not found.lines:
        console.print("nothing is at work")
    elif console.is_terminal:
        console.print(_table(found))
    else:
        from orchestrator.views.at_work import changes

        for each in changes(None, found):
            console.print(_sentence(found, each), highlight=False)


def _screenful(found: "AtWork", room: int) -> Table:
    """A line for each thing, what waits for a person first; no more than there is room for."""
    from orchestrator.views.at_work import LiveKind

    lines = sorted(found.lines, key=lambda line: line.kind is not LiveKind.INTERVENTION)
    shown = lines if len(lines) <= room else lines[: max(room - 1, 1)]
    rows = [_cells(found, line) for line in shown]
    if len(lines) > len(shown):
        rows.append(("", "", "", "", f"[dim]and {len(lines) - len(shown)} more[/]"))
    table = listing(("what", "where", "phase", "for", ""), rows)
    for column in table.columns:
        column.no_wrap, column.overflow = True, "ellipsis"
    # The last one gets the room that the others leave.
    table.expand, table.columns[1].max_width, table.columns[-1].ratio = True, WHERE, 1
    return table


def _table(found: "AtWork") -> Table:
    rows = [_cells(found, line) for line in found.lines[:MOST]]
    if len(found.lines) > MOST:
        rows.append(("", "", f"[dim]and {len(found.lines) - MOST} more[/]", "", ""))
    return listing(("what", "where", "phase", "for", ""), rows)


def _cells(found: "AtWork", line: "LiveLine") -> tuple[str, str, str, str, str]:
    age = "" if line.since is None else span((found.now - line.since).total_seconds())
    told = " · ".join(filter(None, (first_line(line.title, 50), plain(_rest(found, line)))))
    # What is typed stands first: a line may be cut.
    where = f"{line.id} {line.ref}" if line.kind.value == "intervention" else line.ref
    return line.kind.value, plain(where), in_colour(line.phase), age, told


def _sentence(now: "AtWork", change: "LiveChange") -> str:
    line = change.line
    at = now.now.astimezone().strftime("%H:%M:%S")
    phase = "[dim]over[/]" if change.over else in_colour(line.phase)
    parts = (first_line(line.title, 60), "" if change.over else plain(_rest(now, line)))
    told = " · ".join(filter(None, parts))
    return f"[dim]{at}[/] {line.kind.value} [bold]{plain(line.ref)}[/] {phase} {told}"


def _rest(found: "AtWork", line: "LiveLine") -> str:
    from orchestrator.words.at_work import describe_detail, describe_lease, describe_wait

    asked = line.kind.value == "intervention"
    command = command_line(NextStep.of("intervention show", line.id)) if asked else ""
    lease = describe_lease(line, found.now)
    parts = (describe_wait(line), lease, describe_detail(line), command)
    return " · ".join(filter(None, parts))


def _json_line(call: Invocation, change: "LiveChange") -> None:
    write_line(call.console, Envelope("watch.line", details=change))
