"""`replan secret …`: names and vaults; a value goes in and never comes out."""

import getpass
import sys
from typing import Annotated

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import listing, plain
from shared.domain.errors import Rejected
from shared.domain.ids import parse_ref
from shared.domain.next_step import NextStep
from shared.domain.secret import reference

group = typer.Typer(name="secret", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="A letter, then letters, digits and underscores.")]


@add(group, "list", example="replan secret list")
def list_(call: Invocation) -> Result:
    """List the names of secrets and their vaults; a keyring and a command cannot list theirs."""
    from orchestrator.acts import secrets

    entries = secrets.names(call.caller, call.environ)

    def show(console: Console) -> None:
        if not entries:
            console.print("no secrets yet; replan secret set NAME stores one")
            return
        rows = [(f"[bold]{plain(each.name)}[/]", plain(each.vault)) for each in entries]
        console.print(listing(("name", "vault"), rows))

    return Result("secret.list", {"secrets": list(entries)}, show, items=entries)


@add(group, "check", example="replan secret check DB_PASSWORD")
def check(call: Invocation, name: Name) -> Result:
    """Check that a secret can be read and masked; show its vault and how commands receive it."""
    from orchestrator.acts import secrets

    read = secrets.check(call.caller, name, call.environ)

    def show(console: Console) -> None:
        console.print(f"[bold]{plain(name)}[/] can be read from {plain(read.entry.vault)}")
        console.print(plain(f"plans write {reference(name)}, commands get {read.written}"))
        console.print(plain(f"output shows {read.hidden}"))

    return Result("secret.check", read.entry, show)


@add(group, "set", example="replan secret set DB_PASSWORD < password.txt")
def set_(call: Invocation, name: Name) -> Result:
    """Read a secret from standard input, or ask for it, and store it in the vault of files."""
    from orchestrator.acts import secrets

    secrets.require_settable(call.caller, name)
    done = secrets.keep(call.caller, name, _value(name))
    kept = done.value

    def show(console: Console) -> None:
        console.print(f"[bold]{plain(name)}[/] is stored in {plain(kept.path)}")
        console.print(plain(f"plans write {reference(name)}"))

    return Result(
        "secret.set", kept.entry, show, warnings=tuple(note.reason for note in done.notes)
    )


@add(group, "give", example="replan secret give DB_PASSWORD T12")
def give(
    call: Invocation,
    name: Name,
    ref: Annotated[str, typer.Argument(metavar="REF", help="A task, or a step: T12, T12.3.")],
) -> Result:
    """Let a task, or one of its steps, use a secret that nobody named when it was submitted."""
    from orchestrator.acts.secret_grants import give as give_secret

    given = give_secret(call.caller, name, parse_ref(ref)).value
    return Result(
        "secret.give",
        given,
        lambda console: console.print(
            plain(f"{ref} may use {reference(given.name)}"), highlight=False
        ),
        next_step=NextStep.of("task resume", given.ref),
    )


@add(group, "scope", example="replan secret scope DB_PASSWORD --host 'db*'")
def scope(
    call: Invocation,
    name: Name,
    *,
    host: Annotated[
        list[str] | None, typer.Option(help="A host, or a pattern of hosts; repeatable.")
    ] = None,
    anywhere: Annotated[bool, typer.Option("--anywhere", help="Take the limit away.")] = False,
) -> Result:
    """Say on which hosts a secret may be used, besides those said before; or show it."""
    from orchestrator.acts.secret_grants import scope as scope_secret

    found = scope_secret(call.caller, name, tuple(host or ()), anywhere=anywhere).value
    where = ", ".join(found.hosts) or "every host"
    return Result(
        "secret.scope",
        found,
        lambda console: console.print(plain(f"{name} may be used on {where}"), highlight=False),
    )


def _value(name: str) -> str:
    if not sys.stdin.isatty():
        return _read_input(name).removesuffix("\n").removesuffix("\r")
    try:
        return getpass.getpass(f"{name}: ")
    except EOFError:
        raise _refusal(name, "it is empty") from None


def _read_input(name: str) -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        raise _refusal(name, "it is not UTF-8") from None


def _refusal(name: str, why: str) -> Rejected:
    from orchestrator.acts.secrets import refusal

    return refusal(name, why)
