"""The answer to an act that posts facts: its result, or that no coordinator is running."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from rich.console import Console
from rich.text import Text

from orchestrator.cli.reply import Result
from orchestrator.cli.tables import in_colour, next_step
from shared.domain.exits import ExitCode
from shared.domain.ids import Ref
from shared.domain.next_step import NextStep, command_line

if TYPE_CHECKING:  # avoids loading SQLAlchemy: `--help` is quick
    from collections.abc import Collection

    from orchestrator.acts.done import Done, Note
    from orchestrator.views.tasks import TaskView

UNREAD = "recorded, but no coordinator has read it: is one running?"


class Placed(Protocol):
    """Something with a reference and a phase."""

    @property
    def ref(self) -> Ref: ...  # noqa: D102 - a field

    @property
    def phase(self) -> str: ...  # noqa: D102 - a field


def place_answer(kind: str, view: Placed, *, taken: bool) -> Result:
    """The answer whose details are no more than the place and its phase."""
    from orchestrator.cli.answers import Place

    return post_answer(kind, Place(view.ref, view.phase), taken=taken)


def post_answer(kind: str, details: Placed, *, taken: bool) -> Result:
    """The answer with these details; `taken` is that of `Done`."""
    if taken:
        watch = NextStep.of("task watch", details.ref)

        def show(console: Console) -> None:
            console.print(f"[bold]{details.ref}[/] is {in_colour(details.phase)}")
            next_step(console, watch)

        return Result(kind, details, show, next_step=watch)
    return unread_answer(kind, details)


def unread_answer(kind: str, details: Any) -> Result:
    """The answer to an act whose facts no coordinator has read in time."""

    def show_recorded(console: Console) -> None:
        console.print(UNREAD)
        next_step(console, NextStep.of("coordinator start"))

    return Result(
        kind,
        details,
        show_recorded,
        exit_code=ExitCode.UNREACHABLE,
        stage="coordinator",
        reason="recorded, but no coordinator has read it within 5 s",
        next_step=NextStep.of("coordinator start"),
    )


def resume_answer(kind: str, details: Placed, done: "Done[TaskView]") -> Result:
    """The answer to a resumption, with what still waits for an answer."""
    return with_notes(post_answer(kind, details, taken=done.taken), done)


def with_notes(answer: Result, done: "Done[Any]") -> Result:
    """The answer with what else the act has to say, as warnings."""
    return replace(answer, warnings=tuple(map(_line, done.notes)))


def tell_notes(console: Console, done: "Done[Any]", but: "Collection[Note]" = ()) -> None:
    """Print at once what else the act has to say, `but` what is said elsewhere."""
    for note in done.notes:
        if note in but:
            continue
        console.print(Text.assemble(("note: ", "yellow"), _line(note)))


def _line(note: "Note") -> str:
    return (
        note.reason if note.next_step is None else f"{note.reason}: {command_line(note.next_step)}"
    )
