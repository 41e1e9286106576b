"""The secrets that a process has to do with: fetched when they are needed, hidden ever after."""

import threading
from collections.abc import Iterable

from shared.secrets.expansion import variable
from shared.secrets.masking import Masker
from shared.secrets.value import Secret
from shared.secrets.vaults.vault import Vaults


class SecretsInUse:
    """Fetches secrets by name, and knows every value that this process has ever fetched.

    Values are fetched anew each time, so a changed one counts from the next command on, while the
    old one is still hidden. Thread-safe.
    """

    def __init__(self, vaults: Vaults, own: Iterable[Secret] = ()) -> None:
        """`own` are secrets that are hidden and cannot be named (`own_secrets`)."""
        self._vaults = vaults
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], Secret] = {}
        self._masker: Masker | None = None
        self._learn(own)

    def environment(self, names: Iterable[str]) -> dict[str, Secret]:
        """The variables of a command that names these secrets.

        From here on their values are hidden by `masker`. Raises Misconfigured as `Vaults.secret`
        does.
        """
        fetched = self._vaults.secrets(names)
        self._learn(fetched)
        return {variable(secret.name): secret for secret in fetched}

    def masker(self) -> Masker:
        """What hides every value known so far, those of the listing vaults included.

        Take it after `environment` and use it for what that command says. Raises Misconfigured when
        a vault is in no order.
        """
        with self._lock:
            masker = self._masker
        if masker is not None:
            return masker
        self._learn(self._vaults.listed())
        with self._lock:
            self._masker = self._masker or Masker(self._known.values())
            return self._masker

    def _learn(self, secrets: Iterable[Secret]) -> None:
        with self._lock:
            for secret in secrets:
                key = (secret.name, secret.reveal())
                if key not in self._known:
                    self._known[key] = secret
                    self._masker = None
