"""`replan down`: the end of what `replan up` runs here."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import first_line, in_colour, next_step, plain
from shared.domain.errors import Rejected, ReplanError
from shared.domain.exits import ExitCode
from shared.domain.next_step import NextStep
from shared.settings import Implied

if TYPE_CHECKING:  # SQLAlchemy loads when the database is needed
    from orchestrator.cli.answers import LeftCommand, Place, StoppedStack

MOST = 20
"""Lines that say what goes on, of each kind."""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    add(app, "down", example="replan down")(down)


def down(
    call: Invocation,
    *,
    data_dir: Annotated[Path | None, typer.Option(help="The data folder.")] = None,
    timeout: Annotated[
        float, typer.Option(min=0, max=3600, help="Seconds to wait for its end.")
    ] = 60.0,
) -> Result:
    """Stop what `replan up` runs on this machine, and wait for its end.

    Nothing is lost: tasks go on at the next `replan up`, and commands that run on hosts run on
    meanwhile. Exits with 0 if nothing runs, and with 1 if it has not ended in time. What runs in
    another folder than the usual one is stopped with its --data-dir.
    """
    from orchestrator.cli.answers import StoppedStack
    from orchestrator.embedded.folder import end_holder, holder_of

    if data_dir is not None:
        call.environ["REPLAN_DATA_DIR"] = str(data_dir.absolute())
    call.caller.may(call.verb)
    folder = call.settings.server.data_dir
    if call.settings.sources["data_dir"] == Implied.RUNNING:
        raise Rejected(
            f"nothing runs in the usual data folder; what runs in {folder} is stopped by its name",
            stage="input",
            next_step=NextStep.of("down", data_dir=folder),
        )
    holder = holder_of(folder)
    if holder is None:
        nothing = f"nothing runs in {plain(folder)}"
        return Result("down", StoppedStack(str(folder), None), lambda c: c.print(nothing))
    tasks, commands = _unfinished(call)
    stopped = StoppedStack(str(folder), holder, tasks, commands)
    if not end_holder(folder, holder, timeout):
        reason = f"process {holder} has not ended within {timeout:g} s"
        again = NextStep.of("down", data_dir=data_dir)
        return Result(
            "down",
            stopped,
            lambda console: _complain(console, reason, again),
            exit_code=ExitCode.FAILED,
            stage="stop",
            reason=reason,
            next_step=again,
        )
    return Result("down", stopped, lambda console: _show(console, stopped))


def _unfinished(call: Invocation) -> tuple["tuple[Place, ...]", "tuple[LeftCommand, ...]"]:
    """The tasks that have not ended and the commands that run; none if the database is not up."""
    from orchestrator.cli.answers import LeftCommand, Place
    from orchestrator.views.at_work import LiveKind, at_work

    try:
        with call.reading() as connection:
            lines = at_work(connection).lines
    except ReplanError:
        return (), ()
    tasks = (Place(each.ref, each.phase) for each in lines if each.kind is LiveKind.TASK)
    running = (each for each in lines if each.kind is LiveKind.ATTEMPT)
    return tuple(tasks), tuple(LeftCommand(each.ref, each.title) for each in running)


def _show(console: Console, stopped: "StoppedStack") -> None:
    console.print(f"down; nothing runs in {plain(stopped.data_dir)} any more")
    for task in stopped.tasks[:MOST]:
        console.print(f"[bold]{task.ref}[/] was {in_colour(task.phase)}: the next up goes on")
    for each in stopped.commands[:MOST]:
        console.print(f"[bold]{each.ref}[/] runs on on its host: {first_line(each.command)}")
    more = sum(max(0, len(of) - MOST) for of in (stopped.tasks, stopped.commands))
    if more:
        console.print(f"[dim]and {more} more[/]")
    if stopped.tasks:
        next_step(console, NextStep.of("up", detach=True))


def _complain(console: Console, reason: str, again: NextStep) -> None:
    console.print(f"[red]✗[/] {plain(reason)}")
    next_step(console, again)
