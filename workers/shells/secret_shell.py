"""Secrets on the way to a host: the guard sees their names, only the command their values."""

from collections.abc import Generator
from dataclasses import replace

from shared.domain.attempt import CommandResult, OnOutput
from shared.domain.verdict import Verdict, VerdictKind
from shared.secrets.masking import Masker
from workers.passes.ports import Cancelled
from workers.secrets import KnownSecrets
from workers.shells.door import Judge
from workers.shells.ports import Call, Shell
from workers.shells.records import CommandRecord

_RULE = "secrets"


class SecretsJudge:
    """A guard that also denies every command that contains the value of a secret."""

    def __init__(self, inner: Judge, masker: Masker) -> None:
        self._inner = inner
        self._masker = masker

    def judge(self, command: str, interpreter: str = "sh") -> Verdict:
        """The verdict; the reason shows no value."""
        names = self._masker.names_in(command)
        if not names:
            return self._inner.judge(command, interpreter)
        written = ", ".join(f"${{secret:{name}}}" for name in names)
        reason = f"it contains a secret in plain text; write {written} instead of the value"
        return Verdict(VerdictKind.DENY, _RULE, reason)


class SecretShell:
    """A shell that gives each command the secrets that it names.

    `used` is True once a command has named one.
    """

    def __init__(self, inner: Shell, known: KnownSecrets) -> None:
        self.used = False
        self._inner = inner
        self._known = known

    def run(
        self,
        call: Call,
        *,
        on_output: OnOutput | None = None,
        cancelled: Cancelled | None = None,
    ) -> CommandResult:
        """Run a command; see `workers.shells.ports.Shell.run`."""
        named = self._known.variables(call.command)
        self.used = self.used or bool(named)
        return self._inner.run(
            replace(call, variables={**call.variables, **named}),
            on_output=on_output,
            cancelled=cancelled,
        )

    def pipeline(self, calls: Generator[Call]) -> None:
        """See `workers.shells.ports.Shell.pipeline`."""
        self._inner.pipeline(self._with_secrets(calls))

    def cancel_pipeline(self) -> None:
        """See `workers.shells.ports.Shell.cancel_pipeline`."""
        self._inner.cancel_pipeline()

    def recall(self, key: str) -> CommandRecord | None:
        """See `workers.shells.ports.Shell.recall`."""
        return self._inner.recall(key)

    def erase(self) -> None:
        """See `workers.shells.ports.Shell.erase`."""
        self._inner.erase()

    def close(self) -> None:
        """Release the connection."""
        self._inner.close()

    def _with_secrets(self, calls: Generator[Call]) -> Generator[Call]:
        try:
            for call in calls:
                yield replace(call, variables=self._known.variables(call.command))
        finally:
            calls.close()
