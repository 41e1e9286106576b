"""What a person is told of secrets that a plan names, and that cannot be read from here."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from orchestrator.acts.done import Note
from shared.domain.errors import ReplanError
from shared.domain.next_step import NextStep
from shared.secrets.vaults.opening import open_vaults
from shared.settings import ServerSettings


@dataclass(frozen=True, slots=True)
class SecretWarning:
    """A secret that this process cannot read, and why."""

    name: str
    why: str

    @property
    def note(self) -> Note:
        """The warning in words; a worker on another machine may have vaults of its own."""
        told = f"{self.why}: a command that names it fails, unless its worker has the secret"
        return Note(told, NextStep.of("secret set", self.name))


def warnings_on_secrets(
    server: ServerSettings, environ: Mapping[str, str], names: Iterable[str]
) -> tuple[SecretWarning, ...]:
    """Those of the names whose secret no vault of this process gives."""
    return tuple(_warnings(server, environ, sorted(names)))


def _warnings(
    server: ServerSettings, environ: Mapping[str, str], names: Iterable[str]
) -> Iterator[SecretWarning]:
    for name in names:
        try:
            open_vaults(server, environ).find(name)
        except ReplanError as error:
            yield SecretWarning(name, error.reason)


def secret_notes(warnings: Iterable[SecretWarning]) -> tuple[Note, ...]:
    """The warnings in words."""
    return tuple(warning.note for warning in warnings)
