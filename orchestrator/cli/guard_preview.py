"""`replan guard preview`."""

from typing import Annotated

import typer
from rich.console import Console

from orchestrator.cli.completion import hosts
from orchestrator.cli.intervention_text import show_preview
from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result


def register(group: typer.Typer) -> None:
    """Add the command to its group."""
    add(group, "preview", example="replan guard preview 'sed -i s/80/81/ app.conf' --host web1")(
        preview
    )


def preview(
    call: Invocation,
    command: Annotated[str, typer.Argument(help="A shell command.")],
    *,
    host: Annotated[
        str, typer.Option(help="The host on which it would run.", autocompletion=hosts)
    ],
) -> Result:
    """Show what a command would change on a host; nothing of it stays there.

    It runs in namespaces of its own: no network, no service, no process of the host can be reached.
    """
    from orchestrator.acts.guard_preview import preview as preview_on

    found = preview_on(call.caller, command, host)

    def show(console: Console) -> None:
        show_preview(console, found.preview)

    return Result("guard.preview", found, show)
