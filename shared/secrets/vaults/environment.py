"""The vault of the environment: `REPLAN_SECRET_NAME` holds the secret NAME."""

from collections.abc import Mapping

from shared.domain.secret import VARIABLE, is_name
from shared.secrets.vaults.vault import NotHere


class EnvironmentVault:
    """Reads the given environment, usually that of the process."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    @property
    def label(self) -> str:
        """The prefix of its variables."""
        return f"the environment ({VARIABLE}…)"

    def find(self, name: str) -> str:
        """The variable's value; raises NotHere when it is not set."""
        try:
            return self._environ[VARIABLE + name]
        except KeyError:
            raise NotHere from None

    def names(self) -> tuple[str, ...]:
        """The names after this prefix, of all variables that have it."""
        ours = (variable for variable in self._environ if variable.startswith(VARIABLE))
        return tuple(sorted(filter(is_name, (each.removeprefix(VARIABLE) for each in ours))))
