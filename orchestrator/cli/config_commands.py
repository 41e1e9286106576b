"""`replan config …`."""

from typing import Annotated, Any

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import listing, plain

group = typer.Typer(name="config", no_args_is_help=True)


@add(group, "show", example="replan config show error_threshold_per_step")
def show_(
    call: Invocation,
    key: Annotated[str | None, typer.Argument(help="Only this key.")] = None,
    *,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Show what a task with key=value would see.")
    ] = None,
) -> Result:
    """Show every setting, its value, and where the value comes from."""
    from orchestrator.acts import config

    entries = config.show(call.caller, key, set_ or ())

    def show(console: Console) -> None:
        rows = [
            (e.scope, f"[bold]{e.key}[/]", plain(_setting_text(e.value)), plain(e.source))
            for e in entries
        ]
        console.print(listing(("scope", "key", "value", "from"), rows))

    return Result("config.show", {"settings": list(entries)}, show, items=entries)


def _setting_text(value: Any) -> str:
    """The value as a person would type it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(value) if isinstance(value, list) else str(value)
