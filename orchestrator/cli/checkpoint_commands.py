"""`replan checkpoint …`."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.posted import unread_answer
from orchestrator.cli.reply import Result
from orchestrator.cli.session_options import ApplyOption, SessionArgument
from orchestrator.cli.tables import listing, moment, next_step, plain
from shared.domain.ids import parse_ref
from shared.domain.next_step import NextStep

if TYPE_CHECKING:  # avoids loading SQLAlchemy: `--help` is quick
    from orchestrator.views.sessions import CheckpointLine

group = typer.Typer(name="checkpoint", no_args_is_help=True)


@add(group, "run", example="replan checkpoint run T12 --apply")
def run(call: Invocation, ref: SessionArgument, *, apply: ApplyOption = False) -> Result:
    """Publish what a session has accepted, verify it on the remote, and update its worktrees.

    It completes, or stops and changes nothing more.
    """
    from orchestrator.acts import sessions
    from orchestrator.words.sessions import short

    done = sessions.publish(call.caller, parse_ref(ref), apply=apply)
    said = done.value
    if not done.taken:
        return unread_answer("checkpoint.run", said)
    step = (
        NextStep.of("checkpoint show", ref)
        if apply
        else NextStep.of("checkpoint run", ref, apply=True)
    )

    def show(console: Console) -> None:
        number = said.unpublished
        what = "1 delivery that is" if number == 1 else f"{number} deliveries that are"
        does = "asked to publish" if apply else "would publish"
        console.print(f"{does} {short(said.head)}, with {what} not on the remote yet")
        next_step(console, step)

    return Result("checkpoint.run", said, show, next_step=step)


@add(group, "list", example="replan checkpoint list T12")
def list_(
    call: Invocation,
    ref: SessionArgument,
    *,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 100,
) -> Result:
    """List the checkpoints of a session, newest first."""
    from orchestrator.views.sessions import list_checkpoints, require_session
    from orchestrator.words.sessions import checkpoint_state, short

    with call.reading() as connection:
        place = require_session(connection, parse_ref(ref))
        found = list_checkpoints(connection, place, limit=limit)

    def show(console: Console) -> None:
        rows = [
            (
                each.number,
                plain(checkpoint_state(each.status, each.stage)),
                short(each.head_remote or each.head_local),
                each.accepted,
                plain(each.branch),
                moment(each.finished_at or each.started_at),
            )
            for each in found
        ]
        if rows:
            console.print(listing(("", "", "head", "accepted", "branch", ""), rows))
        else:
            console.print("there was no checkpoint yet")

    return Result("checkpoint.list", {"checkpoints": list(found)}, show, items=found)


@add(group, "show", example="replan checkpoint show T12")
def show_(
    call: Invocation,
    ref: SessionArgument,
    number: Annotated[
        int | None, typer.Argument(metavar="[NUMBER]", min=1, help="The newest if left out.")
    ] = None,
) -> Result:
    """Show a checkpoint: what it found on the remote, what it did, and the ways out of a stop."""
    from orchestrator.views.sessions import require_checkpoint, require_session

    with call.reading() as connection:
        place = require_session(connection, parse_ref(ref))
        found = require_checkpoint(connection, place, number)
    return Result("checkpoint.show", found, lambda console: _show(console, found))


def _show(console: Console, found: "CheckpointLine") -> None:
    from orchestrator.cli.ways_out import show_ways_out
    from orchestrator.words.checkpoints import describe_worktree
    from orchestrator.words.postponed import describe as describe_postponed
    from orchestrator.words.sessions import checkpoint_state, short

    report, request = found.report, found.report.request
    state = checkpoint_state(found.status, found.stage)
    console.print(f"checkpoint [bold]{found.number}[/] of {found.ref}: {plain(state)}")
    rows = [
        ("head", found.head_local),
        ("on the remote", found.head_remote or ""),
        ("remote", found.remote),
        ("branch", found.branch),
        ("accepted", str(found.accepted)),
        ("request to merge", "" if request is None else request.url),
        ("began", moment(found.started_at)),
        ("ended", moment(found.finished_at)),
    ]
    console.print(listing(("", ""), [(label, plain(text)) for label, text in rows if text]))
    postponed = None if found.put_off is None else describe_postponed(found.put_off)
    for line in filter(None, (report.reason, postponed)):
        console.print(plain(line), highlight=False)
    ways_out = show_ways_out(console, report, found.remote, found.branch, found.ref)
    if not ways_out and report.next_step is not None:
        next_step(console, report.next_step)
    for each in found.synced:
        console.print(plain(describe_worktree(each)), highlight=False)
    if found.head_remote is None and found.finished_at is None:
        console.print(f"[dim]the remote has not confirmed {short(found.head_local)} yet[/]")
