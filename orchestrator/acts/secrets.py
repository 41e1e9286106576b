"""What a person may do with secrets: list their names, check one, store one."""

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
    """A readable secret: how commands receive it, and how output shows it."""

    entry: Entry
    written: str
    hidden: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A secret that was stored in a file."""

    entry: Entry
    path: Path


@act("secret.list")
def names(caller: Caller, environ: Mapping[str, str]) -> tuple[Entry, ...]:
    """The names of secrets and the vault of each; a keyring and a command cannot list theirs."""
    return tuple(open_vaults(caller.settings.server, environ).entries())


@act("secret.check")
def check(caller: Caller, name: str, environ: Mapping[str, str]) -> Readable:
    """Read a secret and mask it; raises Rejected and Misconfigured when either fails."""
    require_name(name, "secret.check")
    entry, secret = open_vaults(caller.settings.server, environ).find(name)
    written, _names = to_environment(reference(name))
    return Readable(entry, written, Masker([secret]).text(secret.reveal()))


@act("secret.set")
def keep(caller: Caller, name: str, value: str) -> Done[Kept]:
    """Store a secret in the vault of files, and enter that in the audit.

    The secret is stored even when the database cannot be reached; a note then says that the audit
    has no entry. Raises Rejected for a name or a value that is not valid.
    """
    require_name(name, "secret.set")
    _require_value(name, value)
    server = caller.settings.server
    vault = file_vault(server)
    refuse_what_cannot_be_hidden([Secret(name, value)])
    kept = Kept(Entry(name, vault.label), vault.put(name, value))
    unlisted = Note("the setting vaults does not list files, so nothing will read it")
    notes = () if "files" in server.vaults else (unlisted,)
    return Done(kept, notes=(*notes, *_audit_notes(caller, name)))


def require_settable(caller: Caller, name: str) -> None:
    """Raise what `keep` would raise about the name, before a person is asked for the value."""
    caller.may("secret.set")
    require_name(name, "secret.set")


def refusal(name: str, why: str) -> Rejected:
    """The error for a value that is refused."""
    return Rejected(
        f"the value of {name} is refused: {why}",
        stage="input",
        next_step=NextStep.of("secret set", name),
    )


def _audit_notes(caller: Caller, name: str) -> tuple[Note, ...]:
    try:
        with caller.database.begin() as connection:
            audit.record(connection, caller.actor, Act("secret.set", name))
    except ReplanError as error:
        return (Note(f"the audit has no entry: {error.reason}", error.next_step),)
    return ()


def require_name(name: str, verb: str) -> None:
    """Raise Rejected for what is not a valid name."""
    if not is_name(name):
        raise Rejected(
            f"{name!r} is not a valid name of a secret: use a letter, then letters, digits and "
            "underscores, at most 64 characters",
            stage="input",
            next_step=help_of(verb),
        )


def _require_value(name: str, value: str) -> None:
    if not value.strip():
        raise refusal(name, "it is empty")
    if "\0" in value:
        raise refusal(name, "it contains NUL")
