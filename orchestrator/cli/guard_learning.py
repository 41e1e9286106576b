"""`replan guard learn`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import plain
from shared.domain.next_step import NextStep

if TYPE_CHECKING:  # SQLAlchemy loads only when a command needs the database: `--help` is quick
    from orchestrator.acts.guard_learning import LearnedRules, ProposedPolicy


def register(group: typer.Typer) -> None:
    """Add the command to its group."""
    add(group, "learn", example="replan guard learn --since 30d --write learned.yaml")(learn)


def learn(
    call: Invocation,
    *,
    since: Annotated[
        str, typer.Option(metavar="TIME", help="How far back: 12h, 30d or 4w.")
    ] = "30d",
    write: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the rules to a new policy file.")
    ] = None,
) -> Result:
    """Propose rules from what people have approved several times.

    Each is the narrowest that covers it, with the questions that it would have saved and what else
    it would allow. None covers what was denied.
    """
    from orchestrator.acts.guard_learning import learn_rules

    found = learn_rules(call.caller, since, write)
    return Result(
        "guard.learn",
        found,
        lambda console: _show(console, found),
        items=found.rules,
        next_step=None if found.file is None else NextStep.of("guard test", found.file),
    )


def _show(console: Console, found: "LearnedRules") -> None:
    for each in found.rules:
        _show_rule(console, each)
    if not found.rules:
        console.print("no rule covers what was approved at least twice; no file is written")
    console.print(
        f"rules: {len(found.rules)}; questions approved: {found.approved}, denied: {found.denied}"
        + (f", in {plain(str(found.file))}" if found.file else ""),
        highlight=False,
    )


def _show_rule(console: Console, rule: "ProposedPolicy") -> None:
    from orchestrator.words.rules import name_scope

    console.print(
        f"[bold]{plain(rule.command)}[/] {plain(name_scope(rule.scope))}", highlight=False
    )
    console.print(
        f"  questions approved: {rule.questions}, on {plain(', '.join(rule.hosts))}; "
        f"it would have saved {rule.saved}",
        highlight=False,
    )
    for text in rule.also:
        console.print(f"  [yellow]would also allow[/] {plain(text)}", highlight=False)
    for line in rule.policy.splitlines():
        console.print(f"    {plain(line)}", highlight=False)
