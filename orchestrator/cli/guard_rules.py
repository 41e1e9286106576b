"""`replan guard rules`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from orchestrator.cli.completion import hosts
from orchestrator.cli.guard_options import COLOURS, POLICY, PROFILE
from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import plain


def register(group: typer.Typer) -> None:
    """Add the command to its group."""
    add(group, "rules", example="replan guard rules --host web1")(rules)


def rules(
    call: Invocation,
    program: Annotated[
        str | None, typer.Argument(help="Only the rules about this program.")
    ] = None,
    *,
    host: Annotated[
        str | None, typer.Option(help="Under the policy of this host.", autocompletion=hosts)
    ] = None,
    policy: Annotated[Path | None, POLICY] = None,
    profile: Annotated[list[str] | None, PROFILE] = None,
) -> Result:
    """List every rule in force: what it denies or allows, who made it, and why."""
    from orchestrator.acts.guard_policies import Under
    from orchestrator.acts.guard_rules import rules as rules_of

    found = rules_of(call.caller, program, Under(host, policy, tuple(profile or ())))

    def show(console: Console) -> None:
        for each in found.rules:
            console.print(
                f"[{COLOURS[each.verdict]}]{each.verdict:6}[/] {plain(each.rule)}  "
                f"({plain(each.source)}: {plain(each.reason or 'no reason given')})",
                highlight=False,
            )
        console.print("everything else needs a person's approval")
        console.print(f"policy version {found.version}", highlight=False)

    return Result("guard.rules", found, show, items=found.rules)
