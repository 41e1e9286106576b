"""What a worker knows of secrets: their values for the commands that name them, and to hide them."""

import re
import threading
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from time import monotonic

from shared.domain.attempt import CommandResult, OnOutput
from shared.domain.plan import Subtask
from shared.domain.verdict import Verdict, VerdictKind
from shared.secrets.expansion import VARIABLE, to_environment, variable
from shared.secrets.masking import Masker
from shared.secrets.value import Secret
from shared.secrets.vaults.vault import Vaults
from workers.executor.judge import Judge
from workers.ports import NO_VARIABLES, Cancelled, Foreseen, Recalled, Shell

_FRESH_SECONDS = 5.0
"""For so long the vaults are not asked again what they have."""

_NAMED = re.compile(rf"\b{VARIABLE}([A-Za-z][A-Za-z0-9_]*)")
_RULE = "secrets"


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
        """A text for people, models and logs, without what the vaults list; raises as `known`."""
        return self._all()[1].text(text)

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


class DiscreetJudge:
    """The guard, which no command passes that has the value of a secret in it."""

    def __init__(self, inner: Judge, masker: Masker) -> None:
        self._inner = inner
        self._masker = masker

    def judge(self, command: str, interpreter: str = "sh") -> Verdict:
        """The verdict; the reason shows no value."""
        names = self._masker.names_in(command)
        if not names:
            return self._inner.judge(command, interpreter)
        written = ", ".join(f"${{secret:{name}}}" for name in names)
        reason = f"a secret stands in it in plain; write {written} in place of the value"
        return Verdict(VerdictKind.DENY, _RULE, reason)


class ProvidedShell:
    """A shell that gives each command the secrets which it names."""

    def __init__(self, inner: Shell, known: Known) -> None:
        self._inner = inner
        self._known = known

    def run(
        self,
        command: str,
        *,
        timeout: float,
        on_output: OnOutput | None = None,
        cancelled: Cancelled | None = None,
        key: str | None = None,
        label: str = "",
        variables: Mapping[str, str] = NO_VARIABLES,
    ) -> CommandResult:
        """Run a command; see `workers.ports.Shell.run`."""
        return self._inner.run(
            command,
            timeout=timeout,
            on_output=on_output,
            cancelled=cancelled,
            key=key,
            label=label,
            variables={**variables, **self._known.variables(command)},
        )

    def foresee(self, calls: Generator[Foreseen]) -> None:
        """See `workers.ports.Shell.foresee`."""
        self._inner.foresee(self._provided(calls))

    def withdraw(self) -> None:
        """See `workers.ports.Shell.withdraw`."""
        self._inner.withdraw()

    def recalled(self, key: str) -> Recalled | None:
        """See `workers.ports.Shell.recalled`."""
        return self._inner.recalled(key)

    def close(self) -> None:
        """Give the connection back."""
        self._inner.close()

    def _provided(self, calls: Generator[Foreseen]) -> Generator[Foreseen]:
        try:
            for call in calls:
                yield replace(call, variables=self._known.variables(call.command))
        finally:
            calls.close()


def _expanded(text: str) -> str:
    return to_environment(text)[0]


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_NAMED.findall(text))) if VARIABLE in text else ()
