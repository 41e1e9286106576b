"""`replan worker …`."""

import os
import sys
from typing import Annotated

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import next_step
from orchestrator.process_command import process_command
from shared.domain.next_step import NextStep

group = typer.Typer(name="worker", no_args_is_help=True)


@add(group, "list", example="replan worker list")
def list_(call: Invocation) -> Result:
    """Show every coordinator and worker that is connected, and what each does now."""
    from orchestrator.acts.status import list_processes
    from orchestrator.cli.processes_text import process_rows

    found = list_processes(call.caller)
    every = (*found.coordinators, *found.workers)

    def show(console: Console) -> None:
        if found.pooled:
            console.print("a pooler before the database hides who is connected")
        if every:
            console.print(process_rows(every, found.now))
        else:
            console.print("no coordinator and no worker is connected")
            next_step(console, NextStep.of("status"))

    return Result("worker.list", found, show, items=every)


@add(group, "start", example="replan worker start executor --threads 16")
def start(
    call: Invocation,
    role: Annotated[
        list[str],
        typer.Argument(
            metavar="ROLE…",
            help="taskmaster, planner, subtask_planner, executor, escalation, or all.",
        ),
    ],
    *,
    threads: Annotated[
        int | None, typer.Option(min=1, max=1000, help="The number of jobs at the same time.")
    ] = None,
) -> Result:
    """Run workers for some roles until they are stopped.

    Waits up to `startup_patience` for the database, then exits with 4. Exits with 75, to be
    restarted, when it has been cut off from database and broker for `liveness` seconds, and with 70
    when a part of it has crashed.
    """
    _ = call.settings.server.database_url, call.settings.server.broker_url
    wanted = [] if threads is None else ["--threads", str(threads)]
    environ = dict(call.environ)
    if call.config_file is not None:
        environ["REPLAN_CONFIG"] = str(call.config_file)
    sys.stdout.flush()
    program, *words = process_command("workers", "start", *role, *wanted)
    os.execve(program, [program, *words], environ)  # noqa: S606 - in place of this process
