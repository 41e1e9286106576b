"""What a person may do with secrets: list their names, check one, keep one."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.access import audit
from orchestrator.access.audit import Act
from orchestrator.acts.caller import Caller
from orchestrator.acts.done import Done, Note
from orchestrator.acts.verbs import act
from orchestrator.envelope import help_of
from shared.domain.errors import Rejected, ReplanError
from shared.domain.next_step import NextStep
from shared.domain.secret import is_name, reference
from shared.secrets.expansion import to_environment
from shared.secrets.known import refuse_what_cannot_be_hidden
from shared.secrets.masking import Masker
from shared.secrets.value import Secret
from shared.secrets.vaults.opening import file_vault, open_vaults
from shared.secrets.vaults.vault import Entry


@dataclass(frozen=True, slots=True)
class Readable:
    """A secret that can be read: how commands get it, and how output shows it."""

    entry: Entry
    written: str
    hidden: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A secret that was kept in a file."""

    entry: Entry
    path: Path


@act("secret.list")
def names(caller: Caller, environ: Mapping[str, str]) -> tuple[Entry, ...]:
    """The names of secrets, and the vault that each is in; a keyring and a command list none."""
    return tuple(open_vaults(caller.settings.server, environ).entries())


@act("secret.check")
def check(caller: Caller, name: str, environ: Mapping[str, str]) -> Readable:
    """Read a secret and hide it; raises Rejected and Misconfigured where that does not work."""
    _require_name(name, "secret.check")
    entry, secret = open_vaults(caller.settings.server, environ).find(name)
    written, _names = to_environment(reference(name))
    return Readable(entry, written, Masker([secret]).text(secret.reveal()))


@act("secret.set")
def keep(caller: Caller, name: str, value: str) -> Done[Kept]:
    """Keep a secret in the vault of files, and enter in the audit that somebody did.

    It is kept even where no database can be reached; a note says then that it was not entered.
    Raises Rejected for a name or a value that cannot be.
    """
    _require_name(name, "secret.set")
    _require_value(name, value)
    server = caller.settings.server
    vault = file_vault(server)
    refuse_what_cannot_be_hidden([Secret(name, value)])
    kept = Kept(Entry(name, vault.label), vault.put(name, value))
    unlisted = Note("the setting vaults does not list files, so nobody will look there")
    notes = () if "files" in server.vaults else (unlisted,)
    return Done(kept, notes=(*notes, *_audit_notes(caller, name)))


def require_settable(caller: Caller, name: str) -> None:
    """Raise what `keep` would raise about the name: before a person is asked for the value."""
    caller.may("secret.set")
    _require_name(name, "secret.set")


def refusal(name: str, why: str) -> Rejected:
    """That a value is not taken."""
    return Rejected(
        f"the value of {name} is not taken: {why}",
        stage="input",
        next_step=NextStep.of("secret set", name),
    )


def _audit_notes(caller: Caller, name: str) -> tuple[Note, ...]:
    try:
        with caller.database.begin() as connection:
            audit.record(connection, caller.actor, Act("secret.set", name))
    except ReplanError as error:
        return (Note(f"not entered in the audit: {error.reason}", error.next_step),)
    return ()


def _require_name(name: str, verb: str) -> None:
    if not is_name(name):
        raise Rejected(
            f"{name!r} is not a valid name of a secret: a letter, then letters, digits and "
            "underscores, 64 characters at most",
            stage="input",
            next_step=help_of(verb),
        )


def _require_value(name: str, value: str) -> None:
    if not value.strip():
        raise refusal(name, "it is empty")
    if "\0" in value:
        raise refusal(name, "it holds NUL")
