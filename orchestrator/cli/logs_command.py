"""`replan logs`: what the processes of `replan up` say."""

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.text import Text

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Format, Result, write_line
from orchestrator.cli.tables import plain
from orchestrator.embedded.log_files import LogFiles, LogLine
from orchestrator.envelope import Envelope
from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep

_LOOK_EVERY: Final = 0.2
_STYLES: Final = {"warning": "yellow", "error": "red", "critical": "red", "debug": "dim"}
_OWN: Final = frozenset({"event", "level", "timestamp", "logger"})
"""What of an event has a place of its own, or none."""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    add(app, "logs", example="replan logs coordinator --follow")(logs)


def logs(
    call: Invocation,
    name: Annotated[
        str | None, typer.Argument(help="A process: coordinator, executor-1, postgres, …")
    ] = None,
    *,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what is added, until Ctrl-C.")
    ] = False,
    lines: Annotated[
        int, typer.Option("--lines", "-n", min=0, help="The number of lines to begin with.")
    ] = 100,
    data_dir: Annotated[Path | None, typer.Option(help="The data folder.")] = None,
) -> Result:
    """Show what the processes of `replan up` have written to their logs, the newest last.

    On a terminal the lines are for people; elsewhere they come as they were written.
    """
    from orchestrator.cli.answers import LogLines

    if data_dir is not None:
        call.environ["REPLAN_DATA_DIR"] = str(data_dir.absolute())
    call.caller.may(call.verb)
    folder = call.settings.server.data_dir / "logs"
    files = LogFiles(folder, name)
    if name is not None and name not in files.names():
        there = ", ".join(files.names()) or "none"
        raise Rejected(
            f"there is no log of {name!r} in {folder}; there are: {there}",
            stage="input",
            next_step=NextStep.of("logs"),
        )
    found = files.new_lines()
    found = found[len(found) - lines :] if lines < len(found) else found
    if not follow or call.output is Format.MIN_JSON:
        return Result("logs", LogLines(tuple(found)), lambda c: show(c, found, folder), items=found)
    with suppress(KeyboardInterrupt):
        while True:
            _tell(call, found)
            time.sleep(_LOOK_EVERY)
            found = files.new_lines()
    return Result("logs", items=())


def show(console: Console, found: Sequence[LogLine], folder: Path) -> None:
    """Print lines; of none, that there are none in the folder."""
    if not found:
        console.print(f"there are no lines in {plain(folder)}")
    for line in found:
        _print(console, line)


def _tell(call: Invocation, found: Sequence[LogLine]) -> None:
    for line in found:
        if call.human:
            _print(call.console, line)
        else:
            write_line(call.console, Envelope("logs.line", details=line))
    if found:
        call.console.file.flush()


def _print(console: Console, line: LogLine) -> None:
    if console.is_terminal:
        console.print(_for_people(line), highlight=False)
    else:
        console.out(line.text, highlight=False)


def _for_people(line: LogLine) -> Text:
    """`01:02:03 coordinator  outbox_sent jobs=3`: who, what, and the rest of what is known."""
    at = "        " if line.at is None else line.at.astimezone().strftime("%H:%M:%S")
    head = Text.assemble((at, "dim"), " ", (f"{line.name:<12}", "bold"), " ")
    event = line.event
    if event is None:
        return head.append(line.text)
    style = _STYLES.get(str(event.get("level")), "")
    head.append(str(event["event"]), style)
    for key, value in event.items():
        if key not in _OWN and value != "":
            head.append(f" {key}=", "dim").append(str(value), style)
    return head
