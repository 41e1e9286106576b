"""`replan token …`."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import listing, moment, next_step, plain
from shared.domain.next_step import NextStep

if TYPE_CHECKING:  # avoids loading SQLAlchemy: `--help` is quick
    from orchestrator.acts.tokens import IssuedToken

group = typer.Typer(name="token", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of the token.")]
DaysOption = Annotated[int, typer.Option(help="The number of days that it is valid.")]


@add(group, "create", example="replan token create ci --role operator --days 30")
def create_(
    call: Invocation,
    name: NameArgument,
    *,
    role: Annotated[str, typer.Option(help="Its role: viewer, operator, approver or admin.")],
    days: DaysOption = 90,
) -> Result:
    """Create a token for a program or a colleague; it is shown once, and only its hash is stored.

    Nothing accepts a token yet: they are for the coming HTTP interface.
    """
    from orchestrator.acts import tokens

    return _token_answer("token.create", tokens.create(call.caller, name, role, days=days).value)


@add(group, "list", example="replan token list --all")
def list_(
    call: Invocation,
    *,
    every: Annotated[bool, typer.Option("--all", help="Include revoked tokens.")] = False,
) -> Result:
    """List the tokens: the role of each and its last use, never its text."""
    from orchestrator.acts import tokens

    found = tokens.list_tokens(call.caller, every=every)

    def show(console: Console) -> None:
        rows = [
            (
                plain(t.name),
                t.role,
                t.state,
                moment(t.expires_at),
                moment(t.last_used_at),
                plain(t.created_by),
            )
            for t in found
        ]
        if rows:
            console.print(listing(("token", "role", "", "until", "last used", "made by"), rows))
        else:
            console.print("no tokens yet")
            next_step(console, NextStep.of("token create", "ci", role="operator"))

    return Result("token.list", {"tokens": list(found)}, show, items=found)


@add(group, "rotate", example="replan token rotate ci")
def rotate(call: Invocation, name: NameArgument, *, days: DaysOption = 90) -> Result:
    """Replace a token with a new one of the same role; the old one stops working."""
    from orchestrator.acts import tokens

    return _token_answer("token.rotate", tokens.rotate(call.caller, name, days=days).value)


@add(group, "revoke", example="replan token revoke ci")
def revoke(call: Invocation, name: NameArgument) -> Result:
    """Revoke a token: it stops working, and its name is free again."""
    from orchestrator.acts import tokens

    revoked = tokens.revoke(call.caller, name).value
    return Result("token.revoke", revoked, lambda c: c.print(f"revoked {plain(name)}"))


def _token_answer(kind: str, issued: "IssuedToken") -> Result:
    def show(console: Console) -> None:
        told = f"{issued.name} has the role {issued.role} until"
        console.print(f"{plain(told)} {moment(issued.expires_at)}")
        console.print("This is shown once:")
        console.out(issued.token, highlight=False)

    return Result(kind, issued, show, next_step=NextStep.of("token list"))
