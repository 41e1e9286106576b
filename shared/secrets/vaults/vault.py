"""What every vault can do, and the list of vaults, which are asked in order."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from shared.domain.errors import Misconfigured, ReplanError
from shared.domain.next_step import NextStep
from shared.domain.secret import is_name
from shared.secrets.known import refuse_what_cannot_be_hidden
from shared.secrets.value import Secret

STAGE = "secrets"


class NotHere(LookupError):
    """A vault does not have a secret; the message says why, if the vault knows."""


class Vault(Protocol):
    """A store of values under names."""

    @property
    def label(self) -> str:
        """Its name in messages: `files in /srv/replan/secrets`."""

    def find(self, name: str) -> str:
        """The value.

        Raises NotHere if the vault does not have it, and Misconfigured if the vault is out of
        order; neither ever quotes a value.
        """

    def names(self) -> tuple[str, ...]:
        """The names in it, as far as it can list them; raises Misconfigured."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A secret's name and the vault that has it."""

    name: str
    vault: str


class Vaults:
    """The configured vaults; the first that has a name wins."""

    def __init__(self, vaults: Sequence[Vault]) -> None:
        self._vaults = tuple(vaults)

    def secret(self, name: str) -> Secret:
        """The secret of that name, checked so that it can be masked in output.

        Raises Misconfigured if no vault has it, if the vault is out of order, or if the value is
        empty, is not text or cannot be masked. The message contains the name, never the value.
        """
        return self.find(name)[1]

    def secrets(self, names: Iterable[str]) -> tuple[Secret, ...]:
        """The secrets of those names; raises Misconfigured as `secret` does."""
        return tuple(map(self.secret, dict.fromkeys(names)))

    def find(self, name: str) -> tuple[Entry, Secret]:
        """The secret with the vault that it comes from; raises Misconfigured as `secret` does."""
        entry, value = self._find(name)
        secret = Secret(name, value)
        refuse_what_cannot_be_hidden([secret])
        return entry, secret

    def entries(self) -> tuple[Entry, ...]:
        """The entries of all vaults that can list their names, sorted by name."""
        first: dict[str, Entry] = {}
        for vault in self._vaults:
            for name in vault.names():
                first.setdefault(name, Entry(name, vault.label))
        return tuple(first[name] for name in sorted(first))

    def all_secrets(self) -> tuple[Secret, ...]:
        """Every secret that can be listed: a masker hides them whatever a plan names."""
        return self.secrets(entry.name for entry in self.entries())

    def readable(self) -> tuple[Secret, ...]:
        """Every secret that can be read and masked now; what is out of order is passed over."""
        found: dict[tuple[str, str], Secret] = {}
        for vault in self._vaults:
            with suppress(ReplanError):
                for name in vault.names():
                    with suppress(ReplanError, NotHere):
                        secret = Secret(name, _usable(name, vault.find(name), vault.label))
                        refuse_what_cannot_be_hidden([secret])
                        found.setdefault((name, secret.reveal()), secret)
        return tuple(found.values())

    def _find(self, name: str) -> tuple[Entry, str]:
        if not is_name(name):
            raise Misconfigured(
                f"{name!r} is not a valid name of a secret: "
                "a letter, then letters, digits and underscores",
                stage=STAGE,
                next_step=NextStep.of("secret list"),
            )
        asked = []
        for vault in self._vaults:
            try:
                value = vault.find(name)
            except NotHere as missing:
                why = str(missing)
                asked.append(f"{vault.label}: {why}" if why else vault.label)
                continue
            return Entry(name, vault.label), _usable(name, value, vault.label)
        raise Misconfigured(
            f"no vault has the secret {name}; asked: {'; '.join(asked) or 'none'}",
            stage=STAGE,
            next_step=NextStep.of("secret set", name),
        )


def one_line_less(text: str) -> str:
    """The text without the one newline that files and programs end with."""
    return text.removesuffix("\n").removesuffix("\r")


def _usable(name: str, value: str, label: str) -> str:
    why = ""
    if not value.strip():
        why = "is empty"
    elif "\0" in value or any("\ud800" <= c <= "\udfff" for c in value):
        why = "is not text: it holds NUL or is not UTF-8"
    if why:
        raise Misconfigured(
            f"the value of the secret {name} in {label} {why}",
            stage=STAGE,
            next_step=NextStep.of("secret set", name),
        )
    return value
