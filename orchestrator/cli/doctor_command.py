"""`replan doctor`."""

from typing import Annotated

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import next_step, plain
from shared.domain.exits import ExitCode


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    add(app, "doctor", example="replan doctor")(doctor)


def doctor(
    call: Invocation,
    *,
    runners: Annotated[
        bool | None,
        typer.Option(
            "--runners/--no-runners",
            help="Also start each coding agent of this machine with a scripted model, for some "
            "seconds; left out: if a repository is here.",
        ),
    ] = None,
    hosts: Annotated[
        bool, typer.Option("--hosts", help="Also log in to each host, which takes some seconds.")
    ] = False,
) -> Result:
    """Check this installation; exits with 1 if something is wrong.

    Whether servers answer, who serves which queue and what nobody takes, clocks and disks, what is
    stuck, the audit, and whether all that happened explains what is.
    """
    from orchestrator.acts.host_logins import examine_hosts
    from orchestrator.acts.runners import examine_runners, has_repository_here
    from orchestrator.doctor import examine

    call.caller.may(call.verb)
    findings = tuple(examine(call.settings.server))
    if hosts:
        findings += tuple(examine_hosts(call.caller))
    if has_repository_here(call.caller) if runners is None else runners:
        findings += tuple(examine_runners(call.caller))
    wrong = [finding for finding in findings if not finding.ok]

    def show(console: Console) -> None:
        for finding in findings:
            mark = "[green]✓[/]" if finding.ok else "[red]✗[/]"
            console.print(f"{mark} {finding.check}: {plain(finding.reason)}", highlight=False)
            if not finding.ok:
                next_step(console, finding.next_step)

    first = wrong[0] if wrong else None
    return Result(
        "doctor",
        {"findings": list(findings)},
        show,
        items=findings,
        exit_code=ExitCode.FAILED if first else ExitCode.DONE,
        stage=first.check if first else None,
        reason=first.reason if first else None,
        next_step=first.next_step if first else None,
    )
