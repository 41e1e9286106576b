"""`replan coordinator …`."""

import typer

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result

group = typer.Typer(name="coordinator", no_args_is_help=True)


@add(group, "start", example="replan coordinator start")
def start(call: Invocation) -> Result:
    """Coordinate until told to stop; several may run at once.

    Waits for the database and the broker, as long as `startup_patience` says, and then ends with 4.
    """
    from orchestrator.wiring import run_coordinator
    from shared.logs import configure_logs

    configure_logs(call.settings.server.log_level)
    run_coordinator(call.settings)
    return Result("coordinator.start")
