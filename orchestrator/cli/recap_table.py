"""Printing what came of a task on each target."""

from collections.abc import Sequence

from rich.console import Console

from orchestrator.cli.tables import listing, plain
from orchestrator.views.recap import Came, TargetRecap

_ALWAYS = (Came.OK, Came.CHANGED, Came.UNCHANGED, Came.FAILED, Came.SKIPPED)
_FORETOLD = frozenset({Came.WOULD_RUN, Came.WOULD_ASK, Came.DENIED, Came.NOT_KNOWN})
_STYLES = {
    Came.OK: "green",
    Came.CHANGED: "yellow",
    Came.FAILED: "red",
    Came.DENIED: "red",
    Came.WAITING: "yellow",
    Came.WOULD_ASK: "yellow",
}


def show_recap(console: Console, lines: Sequence[TargetRecap]) -> None:
    """Print a line for each target, with how many of its subtasks came to what."""
    seen = {came for line in lines for came, count in line.counts.items() if count}
    if not seen:
        return
    always = () if seen & _FORETOLD else _ALWAYS
    columns = [came for came in Came if came in seen or came in always]
    rows = [
        (plain(line.target), *(_cell(came, line.counts.get(came, 0)) for came in columns))
        for line in lines
    ]
    console.print()
    console.print(listing(("", *columns), rows))


def _cell(came: Came, count: int) -> str:
    style = _STYLES.get(came) if count else "dim"
    return f"[{style}]{count}[/]" if style else str(count)
