"""`replan coordinator …`."""

import typer

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result

group = typer.Typer(name="coordinator", no_args_is_help=True)


@add(group, "start", example="replan coordinator start")
def start(call: Invocation) -> Result:
    """Run a coordinator until it is stopped; several may run at once.

    Waits up to `startup_patience` for the database and the broker, then exits with 4.
    """
    from orchestrator.wiring import run_coordinator
    from shared.logs import configure_logs

    configure_logs(call.settings.server.log_level)
    run_coordinator(call.settings)
    return Result("coordinator.start")
