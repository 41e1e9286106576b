"""`replan config …`."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console

from orchestrator.cli.completion import settings, task_settings
from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import listing, plain

group = typer.Typer(name="config", no_args_is_help=True)


@add(group, "show", example="replan config show error_threshold_per_step")
def show_(
    call: Invocation,
    key: Annotated[
        str | None, typer.Argument(help="Only this key.", autocompletion=settings)
    ] = None,
    *,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Show what a task with key=value would see.", autocompletion=task_settings
        ),
    ] = None,
) -> Result:
    """Show every setting, its value, and where the value comes from."""
    from orchestrator.acts import config

    entries = config.show(call.caller, key, set_ or ())

    def show(console: Console) -> None:
        rows = [
            (e.scope, f"[bold]{e.key}[/]", plain(_with_unit(e.value, e.unit)), plain(e.source))
            for e in entries
        ]
        console.print(listing(("scope", "key", "value", "from"), rows))

    return Result("config.show", {"settings": list(entries)}, show, items=entries)


@add(group, "explain", example="replan config explain lease")
def explain(
    call: Invocation,
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="The setting.", autocompletion=settings)
    ],
) -> Result:
    """Explain one setting: its meaning, its value, what it may be, and where to set it."""
    from orchestrator.acts import config

    found = config.explain(call.caller, key)

    def show(console: Console) -> None:
        line = found.setting
        console.print(f"[bold]{line.key}[/] {plain(line.about)}", soft_wrap=True)
        now = _with_unit(line.value, line.unit) or "not set"
        default = _with_unit(found.default, line.unit) or "not set"
        allowed = f"{found.allowed} {line.unit}".strip()
        console.print(f"  now: {plain(now)} ({plain(line.source)})", soft_wrap=True)
        console.print(f"  default: {plain(default)}", soft_wrap=True)
        console.print(f"  allowed: {plain(allowed)}", soft_wrap=True)
        for told in _places(line.key, found.variables, found.table, found.per_task):
            console.print(f"  set it: {plain(told)}", soft_wrap=True)

    return Result("config.explain", found, show)


def _places(key: str, variables: Sequence[str], table: str | None, per_task: bool) -> Iterator[str]:
    if per_task:
        yield f"--set {key}=… of `task submit`, for that task"
    yield f"{' or '.join(variables)} in the environment"
    if table is not None:
        yield f"{key} under [{table}] in replan.toml"


def _with_unit(value: Any, unit: str) -> str:
    """The value as a person would type it, and what it counts."""
    return f"{value:.10g} {unit}" if unit and value is not None else _setting_text(value)


def _setting_text(value: Any) -> str:
    """The value as a person would type it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(value) if isinstance(value, list) else str(value)
