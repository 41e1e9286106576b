"""Opens the vaults that the settings list."""

from collections.abc import Mapping

from shared.domain.errors import Misconfigured
from shared.domain.next_step import NextStep
from shared.secrets.vaults.command import CommandVault
from shared.secrets.vaults.environment import EnvironmentVault
from shared.secrets.vaults.files import FileVault
from shared.secrets.vaults.system_keyring import KeyringVault
from shared.secrets.vaults.vault import Vault, Vaults
from shared.settings import ServerSettings

KINDS = ("files", "environment", "keyring", "command")


def open_vaults(settings: ServerSettings, environ: Mapping[str, str]) -> Vaults:
    """The vaults in the setting `vaults`, in its order; nothing is read yet.

    Raises Misconfigured, at stage `config`, for an unknown vault or one without its settings.
    """
    return Vaults([_open(kind, settings, environ) for kind in settings.vaults])


def file_vault(settings: ServerSettings) -> FileVault:
    """The vault of files, in `vault_dir` or else in the data folder."""
    return FileVault(settings.vault_dir or settings.data_dir / "secrets")


def _open(kind: str, settings: ServerSettings, environ: Mapping[str, str]) -> Vault:
    match kind:
        case "files":
            return file_vault(settings)
        case "environment":
            return EnvironmentVault(environ)
        case "keyring":
            return KeyringVault()
        case "command":
            return CommandVault(settings.vault_command, timeout=settings.vault_timeout)
    raise Misconfigured(
        f"vaults: {kind!r} is not a vault; allowed: {', '.join(KINDS)}",
        stage="config",
        next_step=NextStep.of("config show", "vaults"),
    )
