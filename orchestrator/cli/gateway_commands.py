"""`replan gateway …`."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.process_command import process_command

group = typer.Typer(name="gateway", no_args_is_help=True)


@add(group, "start", example="replan gateway start")
def start(
    call: Invocation,
    *,
    listen: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Where to listen; default: as gateway_url says."),
    ] = None,
    script: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Answer from a script, ask no provider.")
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Answer from a recording.")
    ] = None,
    record: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write each request and answer there.")
    ] = None,
    standalone: Annotated[
        bool,
        typer.Option(
            "--standalone",
            help="With a script or a recording: take any token, need no database.",
        ),
    ] = False,
) -> Result:
    """Serve models to agents until it is stopped.

    Prints its address once it listens. Agents ask it with the token of their attempt; it asks the
    providers with the keys of this installation, and records what each request costs.
    """
    given = {"--listen": listen, "--script": script, "--replay": replay, "--record": record}
    words = [word for name, each in given.items() if each is not None for word in (name, str(each))]
    environ = dict(call.environ)
    if call.config_file is not None:
        environ["REPLAN_CONFIG"] = str(call.config_file)
    sys.stdout.flush()
    alone = ["--standalone"] if standalone else []
    program, *more = process_command("workers", "gateway", *words, *alone)
    os.execve(program, [program, *more], environ)  # noqa: S606 - in place of this process
