"""`replan coordinator …`."""

import typer

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from shared.domain.exits import ExitCode
from shared.domain.next_step import NextStep

group = typer.Typer(name="coordinator", no_args_is_help=True)


@add(group, "start", example="replan coordinator start")
def start(call: Invocation) -> Result:
    """Run a coordinator until it is stopped; several may run at once.

    Waits up to `startup_patience` for the database, then exits with 4. Exits with 70, to be
    restarted, when one of its parts has crashed.
    """
    from orchestrator.wiring import run_coordinator
    from shared.logs import configure_logs

    configure_logs(call.settings.server.log_level)
    code = run_coordinator(call.settings)
    if code is ExitCode.DONE:
        return Result("coordinator.start")
    return Result(
        "coordinator.start",
        exit_code=code,
        stage="coordinate",
        reason="a part of the coordinator has crashed; its log says why",
        next_step=NextStep.of("coordinator start"),
    )
