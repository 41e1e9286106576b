"""`replan help`: the help of a command, as `--help` prints it (S2.78)."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep


@dataclass(frozen=True, slots=True)
class Help:
    """What a command is for, and the commands that it has below it."""

    command: str
    text: str
    commands: tuple[str, ...]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    add(app, "help", example="replan help task submit")(help_)


def help_(
    call: Invocation,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[COMMAND]", help="Such as: task submit.")
    ] = None,
) -> Result:
    """Show the help of a command, or list all of them: the same as --help."""
    from orchestrator.cli.main import command, main
    from shared.contracts.complaints import unknown  # pydantic loads when there is something to say

    named = [word for each in words or () for word in each.split()]
    found: Any = command()
    for number, word in enumerate(named):
        below = getattr(found, "commands", {})
        if word not in below:
            where = " ".join(named[:number])
            step = NextStep.of("help", where) if where else NextStep.of("help")
            reason = f"{word!r} is {unknown(word, below)}"
            if not below:
                reason = f"{where!r} has no commands of its own"
            raise Rejected(reason, stage="input", next_step=step)
        found = below[word]
    told = Help(
        " ".join(("replan", *named)),
        (found.help or "").strip(),
        tuple(getattr(found, "commands", {})),
    )
    if call.human:
        main([*named, "--help"])
    return Result("help", told)
