"""`replan secret …`: names and vaults; a value is taken, and never given back."""

import getpass
import sys
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import listing, plain
from orchestrator.envelope import help_of
from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep
from shared.domain.secret import is_name, reference

group = typer.Typer(name="secret", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="A letter, then letters, digits and underscores.")]


@add(group, "list", example="replan secret list")
def list_(call: Invocation) -> Result:
    """The names of secrets, and the vault that each is in; a keyring and a command list none."""
    from shared.secrets.vaults.opening import open_vaults

    entries = open_vaults(call.settings.server, call.environ).entries()

    def show(console: Console) -> None:
        if not entries:
            console.print("no secrets yet; replan secret set NAME takes one")
            return
        rows = [(f"[bold]{plain(each.name)}[/]", plain(each.vault)) for each in entries]
        console.print(listing(("name", "vault"), rows))

    return Result("secret.list", {"secrets": list(entries)}, show, items=entries)


@add(group, "check", example="replan secret check DB_PASSWORD")
def check(call: Invocation, name: Name) -> Result:
    """Whether a secret can be read and hidden, which vault it is from, and how commands get it."""
    from shared.secrets.expansion import to_environment
    from shared.secrets.masking import Masker
    from shared.secrets.vaults.opening import open_vaults

    _require_name(name, "check")
    entry, secret = open_vaults(call.settings.server, call.environ).found(name)
    written, _names = to_environment(reference(name))
    hidden = Masker([secret]).text(secret.reveal())

    def show(console: Console) -> None:
        console.print(f"[bold]{plain(name)}[/] can be read from {plain(entry.vault)}")
        console.print(plain(f"plans write {reference(name)}, commands get {written}"))
        console.print(plain(f"output shows {hidden}"))

    return Result("secret.check", entry, show)


@add(group, "set", example="replan secret set DB_PASSWORD < password.txt")
def set_(call: Invocation, name: Name) -> Result:
    """Take a secret from standard input, or ask for it, and keep it in the vault of files."""
    from shared.secrets.known import refuse_what_cannot_be_hidden
    from shared.secrets.value import Secret
    from shared.secrets.vaults.opening import file_vault
    from shared.secrets.vaults.vault import Entry

    _require_name(name, "set")
    vault = file_vault(call.settings.server)
    value = _value(name)
    refuse_what_cannot_be_hidden([Secret(name, value)])
    path = vault.put(name, value)
    ours = "files" in call.settings.server.vaults
    unasked = "the setting vaults does not list files, so nobody will look there"

    def show(console: Console) -> None:
        console.print(f"[bold]{plain(name)}[/] is kept in {plain(path)}")
        console.print(plain(f"plans write {reference(name)}"))

    entry = Entry(name, vault.label)
    return Result("secret.set", entry, show, warnings=() if ours else (unasked,))


def _require_name(name: str, verb: str) -> None:
    if not is_name(name):
        raise Rejected(
            f"{name!r} is no name of a secret: a letter, then letters, digits and underscores, "
            "64 characters at most",
            stage="input",
            next_step=help_of(f"secret.{verb}"),
        )


def _value(name: str) -> str:
    if sys.stdin.isatty():
        try:
            value = getpass.getpass(f"{name}: ")
        except EOFError:
            _refuse(name, "nothing was given")
    else:
        value = _piped(name).removesuffix("\n").removesuffix("\r")
    if not value.strip():
        _refuse(name, "it is empty")
    if "\0" in value:
        _refuse(name, "it holds NUL")
    return value


def _piped(name: str) -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        _refuse(name, "it is not UTF-8")


def _refuse(name: str, why: str) -> NoReturn:
    raise Rejected(
        f"the value of {name} is not taken: {why}",
        stage="input",
        next_step=NextStep.of("secret set", name),
    )
