"""`replan worktree …`."""

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.session_options import SessionArgument
from orchestrator.cli.tables import listing, moment, plain
from shared.domain.ids import parse_ref

group = typer.Typer(name="worktree", no_args_is_help=True)


@add(group, "list", example="replan worktree list T12")
def list_(call: Invocation, ref: SessionArgument) -> Result:
    """List where the steps of a session work, and when somebody was last there."""
    from orchestrator.views.sessions import list_worktrees, require_session

    with call.reading() as connection:
        found = list_worktrees(connection, require_session(connection, parse_ref(ref)))

    def show(console: Console) -> None:
        rows = [
            (
                plain(each.name),
                each.ref,
                plain(each.host),
                plain(each.path),
                each.phase or "",
                moment(each.last_seen_at),
            )
            for each in found
        ]
        if rows:
            console.print(listing(("", "of", "on", "where", "step is", "seen"), rows))
        else:
            console.print("nobody has worked in this session yet")

    return Result("worktree.list", {"worktrees": list(found)}, show, items=found)
