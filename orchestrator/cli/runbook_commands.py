"""`replan runbook …`: the jobs that are known without a model."""

from typing import Annotated

import typer
from rich.console import Console

from orchestrator.cli.completion import runbooks
from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import first_line, listing, next_step, plain
from shared.domain.next_step import Blank, NextStep

group = typer.Typer(name="runbook", no_args_is_help=True)


@add(group, "list", example="replan runbook list")
def list_(call: Invocation) -> Result:
    """List the runbooks, and how each is asked for; yours come before those that ship."""
    from orchestrator.acts.runbooks import list_runbooks

    found = list_runbooks(call.caller)

    def show(console: Console) -> None:
        rows = [
            (f"[bold]{plain(each.name)}[/]", first_line(each.example or each.summary))
            for each in found.runbooks
        ]
        console.print(listing(("runbook", "asked for as"), rows))

    step = NextStep.of("runbook show", Blank("NAME"))
    return Result("runbook.list", found, show, items=found.runbooks, next_step=step)


@add(group, "show", example="replan runbook show web-server")
def show_(
    call: Invocation,
    name: Annotated[str, typer.Argument(help="Its name.", autocompletion=runbooks)],
) -> Result:
    """Show a runbook: its parameters, its steps, what it does about errors, how to run it."""
    from orchestrator.acts.runbooks import show_runbook

    view = show_runbook(call.caller, name)
    prompt = view.example or Blank("PROMPT", text=True)
    step = NextStep.of("task submit", prompt, host=Blank("NAME"), planner="runbook")

    def show(console: Console) -> None:
        console.print(f"[bold]{plain(view.name)}[/] {plain(view.summary)}", highlight=False)
        for prompt in () if view.example else view.prompts:
            console.print(f"asked for as {plain(prompt)}", highlight=False)
        if view.parameters:
            console.print("\n[dim]── parameters, also as name=value at the end of the prompt[/]")
            rows = [
                (
                    f"[bold]{plain(each.name)}[/]",
                    "said in the prompt" if each.default is None else plain(each.default),
                    plain(each.about),
                )
                for each in view.parameters
            ]
            console.print(listing(("name", "value", "what it is"), rows))
        for number, each in enumerate(view.steps, 1):
            console.print(f"\n[bold]{number}[/] {plain(each.title)}", highlight=False)
            for subtask in each.subtasks:
                console.print(f"  {plain(subtask.title)}", highlight=False)
                console.print(f"    [dim]{plain(subtask.command.strip())}[/]", highlight=False)
                if subtask.check:
                    console.print(f"    [dim]check: {plain(subtask.check)}[/]", highlight=False)
        for other in view.alternatives:
            console.print(f"\nwhen {plain(other.when)}: {plain(other.reason)}", highlight=False)
        next_step(console, step)

    return Result("runbook.show", view, show, next_step=step)
