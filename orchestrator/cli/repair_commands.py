"""`replan repair …`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.posted import unread_answer
from orchestrator.cli.reply import Result
from orchestrator.cli.session_options import ApplyOption
from orchestrator.cli.tables import next_step, plain
from shared.domain.exits import ExitCode
from shared.domain.ids import parse_step
from shared.domain.next_step import Advice, NextStep, ShellCommand

if TYPE_CHECKING:  # SQLAlchemy loads when the database is needed
    from orchestrator.acts.repairs import AttemptRepair
    from orchestrator.acts.worktree_repairs import WorktreeRepair

group = typer.Typer(name="repair", no_args_is_help=True)


@add(group, "attempt", example="replan repair attempt T12.2@web1 --apply")
def attempt(
    call: Invocation,
    ref: Annotated[
        str, typer.Argument(metavar="REF", help="A step or an attempt: T12.2@web1, T12.2.1#3@web1.")
    ],
    *,
    apply: ApplyOption = False,
) -> Result:
    """Find out why a step does not get on, and cure it.

    Its worker is gone, its command has ended and nobody has read that, something still runs that
    should not. Without --apply it says what it would do; exits with 1 while something is wrong.
    """
    from orchestrator.acts import repairs

    place = parse_step(ref)
    done = repairs.repair_attempt(call.caller, place) if apply else None
    found = repairs.examine_attempt(call.caller, place) if done is None else done.value
    if done is not None and not done.taken:
        return unread_answer("repair.attempt", found)
    again = NextStep.of("repair attempt", ref, apply=True)
    asked = found.waiting[0].next_step if found.waiting else None
    look = found.next_step or asked or NextStep.of("watch", session=found.ref.of_task())
    wrong = _is_curable(found) and not found.applied
    following = again if wrong else look

    def show(console: Console) -> None:
        _show_attempt(console, found)
        next_step(console, following)

    return Result(
        "repair.attempt",
        found,
        show,
        exit_code=ExitCode.FAILED if wrong else ExitCode.DONE,
        stage="repair" if wrong else None,
        reason=_first_trouble(found) if wrong else None,
        next_step=following,
    )


def _is_curable(found: "AttemptRepair") -> bool:
    from orchestrator.views.stuck_steps import Cure

    return any(each.cure is not Cure.NOTHING for each in found.findings)


def _first_trouble(found: "AttemptRepair") -> str:
    from orchestrator.views.stuck_steps import Cure
    from orchestrator.words.stuck import describe_trouble

    first = next(each for each in found.findings if each.cure is not Cure.NOTHING)
    return f"{first.ref}: {describe_trouble(first)}"


def _show_attempt(console: Console, found: "AttemptRepair") -> None:
    from orchestrator.words.stuck import describe_cure, describe_trouble

    lines = [(each.ref, describe_trouble(each), describe_cure(each)) for each in found.findings]
    _show_findings(console, lines, applied=found.applied)
    for each in found.waiting:
        told = f"it waits for you ({each.name}): {each.reason}"
        console.print(f"[bold]{plain(found.ref)}[/] {plain(told)}", highlight=False)
    if not lines and not found.waiting:
        console.print(f"nothing is wrong with [bold]{plain(found.ref)}[/]")
    if found.unreachable:
        console.print(f"[yellow]its host could not be asked:[/] {plain(found.unreachable)}")
    if found.tail:
        console.print("[dim]── the end of what it wrote[/]")
        console.print(plain(found.tail.rstrip("\n")), highlight=False)


@add(group, "worktree", example="replan repair worktree T12@app --apply")
def worktree(
    call: Invocation,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Its name, a step (T12.2@app), or a session (T12@app)."
        ),
    ],
    *,
    project: Annotated[
        str | None, typer.Option(help="Its repository, where no run is known.")
    ] = None,
    apply: ApplyOption = False,
) -> Result:
    """Find out what is wrong with a workspace, and cure it; nothing goes that is not kept.

    A session stands for its main worktree: that is brought to the published commit, and where the
    remote differs, a checkpoint follows, or a recipe if both sides have commits of their own.
    """
    from orchestrator.acts import worktree_repairs as acts

    done = acts.repair_worktree(call.caller, name, project) if apply else None
    found = acts.examine_worktree(call.caller, name, project) if done is None else done.value
    if done is not None and not done.taken:
        return unread_answer("repair.worktree", found)
    wrong = bool(found.findings) and not found.applied
    following = _after_worktree(found, name, project) if wrong else None

    def show(console: Console) -> None:
        _show_worktree(console, found)
        if not isinstance(following, ShellCommand):  # the ways out are shown already
            next_step(console, following)

    return Result(
        "repair.worktree",
        found,
        show,
        exit_code=ExitCode.FAILED if wrong else ExitCode.DONE,
        stage="repair" if wrong else None,
        reason=_first_of(found) if wrong else None,
        next_step=following,
    )


def _after_worktree(found: "WorktreeRepair", name: str, project: str | None) -> Advice:
    """What to type: the cure, the first way out of what has diverged, or the same look later."""
    from orchestrator.views.stuck_worktrees import WorktreeCure
    from orchestrator.words.checkpoints import recipes

    ways = () if found.report is None else recipes(found.report, found.remote, found.branch)
    if any(each.cure is WorktreeCure.PERSON for each in found.findings) and ways:
        return ways[0].on_host[0]
    cured = any(not each.barred for each in found.findings)
    return NextStep.of("repair worktree", name, project=project, apply=bool(cured))


def _first_of(found: "WorktreeRepair") -> str:
    from orchestrator.words.stuck_worktrees import describe_worktree_trouble

    return f"{found.worktree.name}: {describe_worktree_trouble(found.findings[0])}"


def _show_worktree(console: Console, found: "WorktreeRepair") -> None:
    from orchestrator.cli.ways_out import show_ways_out
    from orchestrator.views.stuck_worktrees import WorktreeTrouble
    from orchestrator.words.stuck_worktrees import (
        describe_worktree_cure,
        describe_worktree_trouble,
    )

    where = found.worktree.name if found.path is None else f"{found.host}:{found.path}"
    lines = [
        (where, describe_worktree_trouble(each), describe_worktree_cure(each))
        for each in found.findings
    ]
    _show_findings(console, lines, applied=found.applied)
    if not lines:
        told = "there is no such workspace" if found.path is None else "nothing is wrong with"
        console.print(f"{told} [bold]{plain(where)}[/]")
    troubles = {each.trouble for each in found.findings}
    if found.report is None or WorktreeTrouble.DIVERGED not in troubles:
        return
    if found.worktree.ref is not None:
        show_ways_out(console, found.report, found.remote, found.branch, found.worktree.ref)


def _show_findings(
    console: Console, lines: Sequence[tuple[object, str, str]], *, applied: bool
) -> None:
    for ref, trouble, cure in lines:
        console.print(f"[red]✗[/] [bold]{plain(ref)}[/] {plain(trouble)}", highlight=False)
        console.print(f"  {'done' if applied else 'cure'}: {plain(cure)}", highlight=False)
