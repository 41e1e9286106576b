"""`replan db …`."""

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import ExitCode, Result

group = typer.Typer(name="db", no_args_is_help=True)


@add(group, "migrate", example="replan db migrate")
def migrate(call: Invocation) -> Result:
    """Bring the database to this program's version; safe to repeat."""
    from shared.store.migrate import upgrade

    state = upgrade(call.settings.server.database_url)

    def show(console: Console) -> None:
        console.print(f"the database is at version {state.found}")

    return Result("db.migrate", state, show)


@add(group, "status", example="replan db status")
def status(call: Invocation) -> Result:
    """Which version the database has, and which one is needed."""
    from shared.store.database import Database
    from shared.store.migrate import version

    state = version(Database(call.settings.server.database_url, pooled=False))

    def show(console: Console) -> None:
        console.print(f"found {state.found or 'none'}, needed {state.needed}")

    behind = not state.current
    return Result(
        "db.status",
        state,
        show,
        exit_code=ExitCode.FAILED if behind else ExitCode.DONE,
        stage="database" if behind else None,
        reason=f"found {state.found or 'none'}, needed {state.needed}" if behind else None,
        next_step_cmd="replan db migrate" if behind else None,
    )
