"""`replan config …`."""

from typing import Annotated, Any

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import listing, plain
from shared.domain.next_step import NextStep
from shared.logs import masked

group = typer.Typer(name="config", no_args_is_help=True)


@add(group, "show", example="replan config show error_threshold_per_step")
def show_(
    call: Invocation,
    key: Annotated[str | None, typer.Argument(help="Only this key.")] = None,
    *,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="As a task would see it: key=value.")
    ] = None,
) -> Result:
    """Every setting, its value, and where the value came from."""
    from shared.domain.errors import Rejected
    from shared.settings import KEYS

    settings = call.settings.with_agent(set_ or ())
    if key is not None and key not in KEYS:
        raise Rejected(
            f"{key!r} is no setting", stage="input", next_step=NextStep.of("config show")
        )
    chosen = [KEYS[key]] if key else list(KEYS.values())
    entries: list[dict[str, Any]] = []
    for each in chosen:
        value = settings.value(each.name)
        shown = ("set" if value else None) if each.secret else value
        entries.append(
            {
                "scope": each.scope.value,
                "key": each.name,
                "value": _shown(shown),
                "source": settings.sources.get(each.name, "default"),
                "about": each.about,
            }
        )

    def show(console: Console) -> None:
        rows = [
            (e["scope"], f"[bold]{e['key']}[/]", plain(_typed(e["value"])), plain(e["source"]))
            for e in entries
        ]
        console.print(listing(("scope", "key", "value", "from"), rows))

    return Result("config.show", {"settings": entries}, show, items=entries)


def _shown(value: object) -> Any:
    """The value as JSON has it; what an address holds of passwords is not shown."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, tuple):
        return [_shown(entry) for entry in value]
    return masked(str(value))


def _typed(value: Any) -> str:
    """The value as it would be typed."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(value) if isinstance(value, list) else str(value)
