"""Who may say whether a command runs, and the only door to the host that the executor has."""

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

from shared.domain.attempt import CommandResult, OnOutput
from shared.domain.errors import Defect
from shared.domain.verdict import Verdict, VerdictKind
from workers.ports import Cancelled, Foreseen, Recalled, Shell


class Judge(Protocol):
    """The guard, as the executor needs it (`shared.guard`)."""

    def judge(self, command: str, interpreter: str = "sh") -> Verdict:
        """The verdict on a command in the bytes that will reach the host."""
        ...


Approved = Callable[[str], bool]
"""Answers True for a command that a person has approved for this run, byte for byte."""


def nothing_approved(_: str) -> bool:
    """No approval has been given."""
    return False


class Door:
    """A host behind the guard: no string passes that was not judged in these very bytes (X18).

    One verdict is kept for each text, so that a check that is repeated is judged once a pass.
    """

    def __init__(
        self,
        shell: Shell,
        guard: Judge,
        *,
        approved: Approved = nothing_approved,
        cancelled: Cancelled = lambda: False,
        withdrawn: Cancelled = lambda: False,
    ) -> None:
        self.approved = approved
        self.cancelled = cancelled
        self._withdrawn = withdrawn
        self._shell = shell
        self._guard = guard
        self._verdicts: dict[str, Verdict] = {}
        self._by_itself: dict[str, Verdict] = {}

    def verdict(self, command: str) -> Verdict:
        """The guard's verdict; an approval turns `approve` into `allow`, but never a `deny`."""
        known = self._verdicts.get(command)
        if known is None:
            known = self._judged(command)
            if known.kind is VerdictKind.APPROVE and self.approved(command):
                known = Verdict(VerdictKind.ALLOW)
            self._verdicts[command] = known
        return known

    def run(self, command: str, *, timeout: float) -> CommandResult:
        """Run what the guard allows; raises Defect for anything else, and what the shell raises."""
        self._check(command)
        return self._shell.run(command, timeout=timeout, cancelled=self._withdrawn)

    def run_once(
        self,
        command: str,
        *,
        timeout: float,
        key: str,
        label: str,
        on_output: OnOutput,
        cancelled: Cancelled,
    ) -> CommandResult:
        """The same, effectively once for each key (`workers.ports.Shell.run`).

        What was started under its key before is only waited for, whatever the guard says now.
        """
        if self.recalled(key) is None:
            self._check(command)
        return self._shell.run(
            command,
            timeout=timeout,
            on_output=on_output,
            cancelled=lambda: self._withdrawn() or cancelled(),
            key=key,
            label=label,
        )

    def lets_pass(self, command: str) -> bool:
        """Whether the guard allows it by itself, without anybody's approval."""
        return self._judged(command).allowed

    def foresee(self, calls: Generator[Foreseen]) -> None:
        """Tell the host what `run` and `run_once` will ask next, as it wants to know it.

        Raises Defect, there, for what the guard does not allow.
        """
        self._shell.foresee(self._checked(calls))

    def withdraw(self) -> None:
        """Have nothing more of it started; what was started is recalled."""
        self._shell.withdraw()

    def recalled(self, key: str) -> Recalled | None:
        """What an earlier driver of the pass started under that key."""
        return self._shell.recalled(key)

    def _judged(self, command: str) -> Verdict:
        known = self._by_itself.get(command)
        if known is None:
            known = self._by_itself[command] = self._guard.judge(command)
        return known

    def _checked(self, calls: Generator[Foreseen]) -> Generator[Foreseen]:
        with closing(calls):
            for call in calls:
                if not self.lets_pass(call.command):
                    raise Defect("a command that is not allowed was foreseen", stage="guard")
                yield call

    def _check(self, command: str) -> None:
        if not self.verdict(command).allowed:
            raise Defect("a command that the guard does not allow was about to run", stage="guard")


@dataclass(frozen=True, slots=True)
class HostProbe:
    """Read-only looks at a host through its door (`corrections.correction.Probe`)."""

    door: Door
    timeout: float = 10.0

    def ask(self, command: str) -> str:
        """What the command printed on standard output; nothing when it may not run."""
        if not self.door.verdict(command).allowed:
            return ""
        return self.door.run(command, timeout=self.timeout).stdout.decode(errors="replace")

    def holds(self, command: str) -> bool:
        """Whether the command exits with 0; False when it may not run."""
        return (
            self.door.verdict(command).allowed and self.door.run(command, timeout=self.timeout).ok
        )
