"""Secrets on the way to a host: named in what is judged, known to the command alone."""

from collections.abc import Generator, Mapping
from dataclasses import replace

from shared.domain.attempt import CommandResult, OnOutput
from shared.domain.verdict import Verdict, VerdictKind
from shared.secrets.masking import Masker
from workers.ports import NO_VARIABLES, Cancelled, Foreseen, Recalled, Shell
from workers.secrets import Known
from workers.shells.door import Judge

_RULE = "secrets"


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
    """A shell that gives each command the secrets which it names; `used` once one did."""

    def __init__(self, inner: Shell, known: Known) -> None:
        self.used = False
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
        named = self._known.variables(command)
        self.used = self.used or bool(named)
        return self._inner.run(
            command,
            timeout=timeout,
            on_output=on_output,
            cancelled=cancelled,
            key=key,
            label=label,
            variables={**variables, **named},
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

    def erase(self) -> None:
        """See `workers.ports.Shell.erase`."""
        self._inner.erase()

    def close(self) -> None:
        """Give the connection back."""
        self._inner.close()

    def _provided(self, calls: Generator[Foreseen]) -> Generator[Foreseen]:
        try:
            for call in calls:
                yield replace(call, variables=self._known.variables(call.command))
        finally:
            calls.close()
