"""The secrets that a worker gives to the commands which name them, and hides everywhere else."""

import re
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import monotonic

from shared.domain.errors import ReplanError
from shared.domain.plan import Subtask
from shared.secrets.expansion import VARIABLE, to_environment, variable
from shared.secrets.masking import Masker
from shared.secrets.value import Secret
from shared.secrets.vaults.vault import Vaults

_FRESH_SECONDS = 5.0
"""For so long the vaults are not asked again what they have."""

_NAMED = re.compile(rf"\b{VARIABLE}([A-Za-z][A-Za-z0-9_]*)")


@dataclass(frozen=True, slots=True)
class Known:
    """The secrets that some commands need, and the masker that hides them and all others."""

    masker: Masker
    secrets: Mapping[str, Secret] = field(default_factory=dict)

    def variables(self, command: str) -> Mapping[str, str]:
        """What a command needs in its environment."""
        return {
            variable(name): self.secrets[name].reveal()
            for name in _names(command)
            if name in self.secrets
        }


class Secrecy:
    """Asks the vaults; safe to use from many threads."""

    def __init__(self, vaults: Vaults) -> None:
        self._vaults = vaults
        self._listed: tuple[Secret, ...] = ()
        self._listed_at = -_FRESH_SECONDS
        self._masker = Masker()
        self._lock = threading.Lock()

    def known(self, commands: Iterable[str] = ()) -> Known:
        """What the commands need; raises Misconfigured when a vault cannot give it."""
        names = dict.fromkeys(name for command in commands for name in _names(command))
        listed, masker = self._all()
        if not names:
            return Known(masker)
        asked = self._vaults.secrets(names)
        if not set(asked) <= set(listed):
            masker = Masker({*listed, *asked})
        return Known(masker, {secret.name: secret for secret in asked})

    def text(self, text: str) -> str:
        """A text for people, models and logs, without what the vaults list, or listed last."""
        with suppress(ReplanError):
            self._all()
        return self._masker.text(text)

    def _all(self) -> tuple[tuple[Secret, ...], Masker]:
        with self._lock:
            if monotonic() - self._listed_at >= _FRESH_SECONDS:
                listed = self._vaults.listed()
                if listed != self._listed:
                    self._listed, self._masker = listed, Masker(listed)
                self._listed_at = monotonic()
            return self._listed, self._masker


def with_variables(subtask: Subtask) -> Subtask:
    """The subtask as it runs, with a variable for each `${secret:NAME}`; raises Rejected."""
    return replace(
        subtask,
        command=_expanded(subtask.command),
        check=None if subtask.check is None else _expanded(subtask.check),
        preconditions=tuple(map(_expanded, subtask.preconditions)),
    )


def texts_of(subtasks: Iterable[Subtask]) -> tuple[str, ...]:
    """Everything in subtasks that a host is asked."""
    return tuple(
        text
        for subtask in subtasks
        for text in (subtask.command, subtask.check, *subtask.preconditions)
        if text is not None
    )


def _expanded(text: str) -> str:
    return to_environment(text)[0]


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_NAMED.findall(text))) if VARIABLE in text else ()
