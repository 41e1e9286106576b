"""`replan task logs`."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.completion import tasks
from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Format, Result, write_line
from orchestrator.cli.tables import in_colour, next_step, plain
from orchestrator.envelope import Envelope
from shared.domain.exits import ExitCode
from shared.domain.ids import parse_ref
from shared.domain.next_step import NextStep

if TYPE_CHECKING:  # SQLAlchemy loads when the database is needed
    from orchestrator.views.attempts import OutputPiece
    from orchestrator.views.logs import LoggedAttempt, LogPlace

PlaceArgument = Annotated[
    str, typer.Argument(metavar="REF", help="T12, T12@web1 or T12.2.", autocompletion=tasks)
]


def register(group: typer.Typer) -> None:
    """Add the command to its group."""
    add(group, "logs", example="replan task logs T12 --failed")(logs)


def logs(
    call: Invocation,
    ref: PlaceArgument,
    *,
    failed: Annotated[bool, typer.Option("--failed", help="Only of what has failed.")] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on until the task ends or waits for you.")
    ] = False,
) -> Result:
    """Print what the commands of a task have written, in order, each line with its place.

    With --follow the exit code says how the task ended, as that of `task watch`.
    """
    from orchestrator.acts.logs import read_logs
    from orchestrator.cli.follow import CODES
    from orchestrator.cli.log_lines import LogLines
    from orchestrator.views.logs import TaskLogs
    from orchestrator.words.failures import why_it_stops

    printed, kept = LogLines(call.console), _Kept(call)
    reader = printed if call.human else kept
    task = read_logs(call.caller, parse_ref(ref), reader, failed=failed, follow=follow)
    found = TaskLogs(task.ref, task.phase, kept.rest())

    def show(console: Console) -> None:
        if not printed.begun_any:
            console.print("nothing has failed" if failed else "no command has run yet")
        if follow:
            why = plain(why_it_stops(task))
            console.print(f"[bold]{task.ref}[/] {in_colour(task.phase)} {why}", highlight=False)
            next_step(console, NextStep.of("task show", task.ref))

    code = CODES.get(task.phase, ExitCode.DONE) if follow else ExitCode.DONE
    done = code is ExitCode.DONE
    return Result(
        "task.logs",
        found,
        show,
        exit_code=code,
        stage=None if done else "task",
        reason=None if done else why_it_stops(task) or task.phase.value,
        next_step=NextStep.of("task show", task.ref) if follow else None,
    )


class _Kept:
    """Keeps the attempts, each as it was seen last; as JSON lines, writes those that have ended."""

    def __init__(self, call: Invocation) -> None:
        self._call = call
        self._attempts: dict[int, LoggedAttempt] = {}

    def begun(self, place: "LogPlace", attempt: "LoggedAttempt") -> None:
        self._attempts[place.id] = attempt

    def wrote(self, place: "LogPlace", piece: "OutputPiece") -> None:
        """Live output comes again with the ended attempt."""

    def ended(self, place: "LogPlace", attempt: "LoggedAttempt") -> None:
        self._attempts[place.id] = attempt
        if self._call.output is Format.JSONL:
            write_line(self._call.console, Envelope("log.line", details=attempt))
            del self._attempts[place.id]

    def rest(self) -> "tuple[LoggedAttempt, ...]":
        """What has not been written."""
        return tuple(self._attempts.values())
