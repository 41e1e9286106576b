"""`replan guard test`."""

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import plain
from shared.domain.exits import ExitCode
from shared.domain.next_step import NextStep

if TYPE_CHECKING:  # the guard loads its parser only when a command needs it
    from orchestrator.acts.guard_tests import PolicyTests


def register(group: typer.Typer) -> None:
    """Add the command to its group."""
    add(group, "test", example="replan guard test policy.yaml")(test)


def test(
    call: Invocation,
    file: Annotated[Path, typer.Argument(help="A policy file.", metavar="FILE")],
) -> Result:
    """Run the tests of a policy file: those beside its rules, and its checks; nothing is run.

    Each is judged on every level where it must hold: for all hosts, for each group, for each host.
    """
    from orchestrator.acts.guard_tests import run_tests

    found = run_tests(call.caller, file)
    told = f"{found.failed} of {len(found.tests)} tests of {file} failed"
    return Result(
        "guard.test",
        found,
        lambda console: _show(console, found),
        exit_code=ExitCode.FAILED if found.failed else ExitCode.DONE,
        stage="guard" if found.failed else None,
        reason=told if found.failed else None,
        next_step=NextStep.of("guard rules", policy=file) if found.failed else None,
    )


def _show(console: Console, found: "PolicyTests") -> None:
    for level, tests in groupby(found.tests, key=lambda each: each.level or "all hosts"):
        marks = "".join("." if each.passed else "[red]F[/]" for each in tests)
        console.print(f"{plain(level)} {marks}", highlight=False)
    for each in found.tests:
        if not each.passed:
            console.print(
                f"[red]FAILED[/] {plain(each.level or 'all hosts')}: {plain(each.command)}: "
                f"{each.expected} expected, {each.verdict} given"
                + (f" ({plain(each.reason)})" if each.reason else ""),
                highlight=False,
            )
    passed = len(found.tests) - found.failed
    failed = f", [red]{found.failed} failed[/]" if found.failed else ""
    console.print(f"{passed} passed{failed}", highlight=False)
