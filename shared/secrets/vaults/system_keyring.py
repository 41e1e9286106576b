"""The vault of the desktop's or system's keyring, read through the library `keyring`."""

import sys
from types import ModuleType

from shared.domain.errors import Misconfigured
from shared.domain.next_step import ShellCommand
from shared.secrets.vaults.vault import STAGE, NotHere

SERVICE = "replan"


class KeyringVault:
    """Reads passwords of the service `replan`; a keyring cannot list its contents."""

    @property
    def label(self) -> str:
        """The service whose passwords are read."""
        return f"the keyring (service {SERVICE})"

    def find(self, name: str) -> str:
        """The password of that name; raises NotHere if there is none, or Misconfigured."""
        keyring = _library()
        try:
            found: str | None = keyring.get_password(SERVICE, name)
        except keyring.errors.KeyringError as error:
            raise Misconfigured(
                f"the keyring does not answer: {type(error).__name__} ({error})",
                stage=STAGE,
                next_step=ShellCommand("keyring diagnose"),
            ) from None
        if found is None:
            raise NotHere
        return found

    def names(self) -> tuple[str, ...]:
        """Empty: they cannot be listed."""
        return ()


def _library() -> ModuleType:
    try:
        import keyring
        import keyring.errors
    except ImportError:
        raise Misconfigured(
            "the vault `keyring` needs the library of that name, which is not installed",
            stage=STAGE,
            next_step=ShellCommand(f"{sys.executable} -m pip install keyring"),
        ) from None
    return keyring
