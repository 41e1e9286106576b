"""Tables and colours for people."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from shared.domain.next_step import Advice, NextStep, command_line

AFTER = "Continue after this number, which a shortened list prints at its end."
"""The help of the option that continues a list."""

COLOURS = {
    "done": "green",
    "ok": "green",
    "satisfied": "green",
    "simulated": "cyan",
    "running": "cyan",
    "held": "cyan",
    "accepting": "cyan",
    "accepted": "cyan",
    "expired": "red",
    "ready": "cyan",
    "planning": "cyan",
    "detailing": "cyan",
    "refining": "cyan",
    "replanning": "yellow",
    "waiting": "yellow",
    "needs_approval": "yellow",
    "over_budget": "yellow",
    "unknown": "yellow",
    "blocked": "red",
    "error": "red",
    "failed": "red",
    "check_failed": "red",
    "timed_out": "red",
    "denied": "red",
    "precondition_unmet": "red",
    "cancelled": "dim",
    "skipped": "dim",
    "replaced": "dim",
}


def in_colour(word: str) -> str:
    """A word in the colour of its state."""
    colour = COLOURS.get(word)
    return f"[{colour}]{word}[/]" if colour else escape(word)


def listing(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """An aligned table without lines; cells are markup."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(str, row))
    return table


def show_markdown(console: Console, text: str) -> None:
    """Print Markdown: set on a terminal, in lines of its width; elsewhere as it is."""
    if console.is_terminal:
        from rich.markdown import Markdown

        # Without hyperlinks: texts of others are in it.
        console.print(Markdown(text, hyperlinks=False), soft_wrap=False)
    else:
        console.out(text, highlight=False)


def plain(text: object) -> str:
    """Text with its markup escaped."""
    return escape(str(text))


def first_line(text: str, length: int = 80) -> str:
    """The first line of a command, shortened."""
    line, _, rest = text.strip().partition("\n")
    short = line if len(line) <= length else line[: length - 1] + "…"
    return plain(short + (" …" if rest and short == line else ""))


def below(text: str) -> str:
    """A second line of a cell, less important than the first; nothing for an empty text."""
    return f"\n[dim]{plain(text)}[/]" if text else ""


def moment(at: datetime | None) -> str:
    """A local date and time."""
    return "" if at is None else at.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def minute(at: datetime) -> str:
    """A local date and time of this year or the last, as lists show it."""
    return at.astimezone().strftime("%b %e %H:%M")


def span(seconds: float | None) -> str:
    """A span of time for people."""
    if seconds is None:
        return ""
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def tell_rest(console: Console, further: NextStep | None) -> None:
    """Below a shortened list, say that there is more and how to see it."""
    if further is not None:
        console.print("[dim]there are more[/]")
        next_step(console, further)


def next_step(console: Console, step: Advice | None) -> None:
    """Print the command to type next."""
    if step is not None:
        console.print(f"next: [bold]{plain(command_line(step))}[/]", highlight=False)


def next_steps(console: Console, steps: Iterable[Advice]) -> None:
    """Print the ways on; a person at a terminal is told what each is for."""
    from orchestrator.words.purposes import purpose_of

    for step in steps:
        purpose = purpose_of(step) if console.is_terminal else ""
        told = f"  [dim]# {plain(purpose)}[/]" if purpose else ""
        console.print(f"next: [bold]{plain(command_line(step))}[/]{told}", highlight=False)
