"""`replan fix …`."""

import re
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from orchestrator.cli.completion import fixes
from orchestrator.cli.files import read_text
from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import (
    AFTER,
    first_line,
    listing,
    moment,
    next_step,
    plain,
    tell_rest,
)
from shared.domain.next_step import NextStep

_PATHS = re.compile(r"<path>(?:/<path>)+")

group = typer.Typer(name="fix", no_args_is_help=True)

FixArgument = Annotated[str, typer.Argument(metavar="FIX", help="A fix: F7.", autocompletion=fixes)]


@add(group, "list", example="replan fix list --all")
def list_(
    call: Invocation,
    *,
    every: Annotated[bool, typer.Option("--all", help="Include retired fixes.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 1000,
    after: Annotated[int | None, typer.Option(min=1, help=AFTER)] = None,
) -> Result:
    """List the fixes that worked; they help where a step fails in the same way."""
    from orchestrator.views.fixes import list_fixes

    with call.reading() as connection:
        page = list_fixes(connection, limit=limit, every=every, after=after)
    found = page.fixes
    rest = NextStep.of("fix list", all=bool(every), limit=limit, after=page.next)
    further = None if page.next is None else rest

    def show(console: Console) -> None:
        if not found:
            console.print("no fixes yet: one is learnt when a revision works")
            return
        rows = [
            (
                fix.ref,
                "[dim]retired[/]" if fix.retired_at else "",
                f"{fix.worked}/{fix.worked + fix.failed}",
                plain(fix.family),
                first_line(_PATHS.sub("<path>", "; ".join(fix.failure)), 100),
            )
            for fix in found
        ]
        console.print(listing(("fix", "", "worked", "on", "when this fails"), rows))
        tell_rest(console, further)

    return Result("fix.list", page, show, items=found, next_step=further)


@add(group, "show", example="replan fix show F7")
def show_(call: Invocation, fix: FixArgument) -> Result:
    """Show a fix: what it is for and does, whether it acts by itself, and where it was used."""
    from orchestrator.views.fixes import fix_view, parse_fix
    from orchestrator.words.fixes import tell_use
    from orchestrator.words.quantities import count_of
    from shared.contracts.plandump import dump_subtasks

    with call.reading() as connection:
        view = fix_view(connection, parse_fix(fix))
    line = view.fix

    def show(console: Console) -> None:
        console.print(f"[bold]{line.ref}[/] {plain(line.family)}")
        if line.retired_at:
            console.print(f"[yellow]retired[/] {moment(line.retired_at)}: {line.retired_because}")
        console.print(f"{plain(line.reason)}", highlight=False)
        console.print(
            f"learnt from {plain(line.learnt_from)} by {plain(line.author)}, "
            f"found {count_of(line.learnt, 'time')}; "
            f"offered {count_of(line.offered, 'time')}, worked {line.worked}, failed {line.failed}"
        )
        console.print(plain(tell_use(view.obstacles, view.scopes)), highlight=False)
        console.print("\n[dim]── when this fails[/]")
        for told in line.failure:
            console.print(plain(told), highlight=False)
        console.print("\n[dim]── these subtasks[/]")
        console.out(dump_subtasks(view.replaces).rstrip(), highlight=False)
        console.print("\n[dim]── are replaced by[/]")
        console.out(dump_subtasks(view.replacement).rstrip(), highlight=False)
        if view.uses:
            console.print("\n[dim]── used[/]")
            words = {True: "[green]worked[/]", False: "[red]failed[/]", None: "under way"}
            rows = [
                (u.ref, str(u.revision), moment(u.offered_at), words[u.worked]) for u in view.uses
            ]
            console.print(listing(("step", "revision", "", ""), rows))

    return Result("fix.show", view, show)


@add(group, "retire", example='replan fix retire F7 --note "restarts the wrong service"')
def retire(
    call: Invocation,
    fix: FixArgument,
    *,
    note: Annotated[str, typer.Option(help="Why; stored with the fix.")] = "",
) -> Result:
    """Stop offering a fix."""
    from orchestrator.acts import fixes
    from orchestrator.views.fixes import parse_fix

    number = parse_fix(fix)
    fixes.retire(call.caller, number, note)
    return _answer("fix.retire", number, "is retired", NextStep.of("fix restore", f"F{number}"))


@add(group, "restore", example="replan fix restore F7")
def restore(call: Invocation, fix: FixArgument) -> Result:
    """Offer a retired fix again; its earlier failures no longer count against it."""
    from orchestrator.acts import fixes
    from orchestrator.views.fixes import parse_fix

    number = parse_fix(fix)
    fixes.restore(call.caller, number)
    return _answer("fix.restore", number, "is offered again", NextStep.of("fix show", f"F{number}"))


@add(group, "edit", example="replan fix edit F7 --file fix.yaml")
def edit(
    call: Invocation,
    fix: FixArgument,
    *,
    file: Annotated[Path, typer.Option(help="The new subtasks of the fix.")],
) -> Result:
    """Replace the subtasks of a fix: a file in the form of a revision, as `fix show` prints it."""
    from orchestrator.acts import fixes
    from orchestrator.acts.plan_text import PlanText
    from orchestrator.views.fixes import parse_fix

    number = parse_fix(fix)
    fixes.edit(call.caller, number, PlanText(read_text(file), str(file)))
    return _answer("fix.edit", number, "is changed", NextStep.of("fix show", f"F{number}"))


def _answer(kind: str, number: int, told: str, following: NextStep) -> Result:
    def show(console: Console) -> None:
        console.print(f"[bold]F{number}[/] {told}")
        next_step(console, following)

    return Result(kind, {"ref": f"F{number}"}, show, next_step=following)
