"""`replan db …`."""

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import next_step
from shared.domain.exits import ExitCode

group = typer.Typer(name="db", no_args_is_help=True)


@add(group, "migrate", example="replan db migrate")
def migrate(call: Invocation) -> Result:
    """Migrate the database to this program's version; safe to repeat."""
    from orchestrator.acts import database
    from orchestrator.cli.answers import DatabaseVersion

    state = database.migrate(call.caller)

    def show(console: Console) -> None:
        console.print(f"the database is at version {state.found}")

    return Result("db.migrate", DatabaseVersion(state.found, state.needed), show)


@add(group, "status", example="replan db status")
def status(call: Invocation) -> Result:
    """Show the version of the database, the one that is needed, and what is pending."""
    from orchestrator.acts import database
    from orchestrator.cli.answers import DatabaseVersion

    found = database.status(call.caller)
    state, problem = found.version, found.problem

    def show(console: Console) -> None:
        console.print(f"found {state.found or 'none'}, needed {state.needed}")
        if state.pending:
            console.print(f"pending: {', '.join(state.pending)}", highlight=False)
        next_step(console, problem.next_step if problem else None)

    return Result(
        "db.status",
        DatabaseVersion(state.found, state.needed, state.pending),
        show,
        exit_code=ExitCode.FAILED if problem else ExitCode.DONE,
        stage=problem.stage if problem else None,
        reason=problem.reason if problem else None,
        next_step=problem.next_step if problem else None,
    )
