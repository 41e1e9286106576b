"""Who may say whether a command runs, and the only door to the host that the executor has."""

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Protocol

from shared.domain.attempt import CommandResult, OnOutput
from shared.domain.errors import Defect
from shared.domain.verdict import ALLOWED, Verdict
from workers.passes.ports import Approvals, Cancelled
from workers.shells.ports import Call, Recalled, Shell


class Judge(Protocol):
    """The guard, as the executor needs it (`shared.guard`)."""

    def judge(self, command: str, interpreter: str = "sh") -> Verdict:
        """The verdict on a command in the bytes that will reach the host."""
        ...


class NothingApproved:
    """No approval has been given (`workers.passes.ports.Approvals`)."""

    def holds(self, subtask: int, text: str) -> bool:  # noqa: ARG002
        """False."""
        return False

    def spend(self, subtask: int, text: str, key: str) -> bool:  # noqa: ARG002
        """False."""
        return False


class Door:
    """A host behind the guard: no string passes that was not judged in these very bytes (X18).

    One verdict is kept for each text, so that a check that is repeated is judged once a pass. What
    the guard alone does not allow passes only after `clear` has found an approval for it.
    """

    def __init__(
        self,
        shell: Shell,
        guard: Judge,
        *,
        approvals: Approvals | None = None,
        cancelled: Cancelled = lambda: False,
        withdrawn: Cancelled = lambda: False,
    ) -> None:
        self._approvals = approvals or NothingApproved()
        self._cleared: set[tuple[str | None, str]] = set()
        self.cancelled = cancelled
        self._withdrawn = withdrawn
        self._shell = shell
        self._guard = guard
        self._verdicts: dict[str, Verdict] = {}

    def verdict(self, command: str) -> Verdict:
        """The guard's verdict, whatever a person may have approved."""
        known = self._verdicts.get(command)
        if known is None:
            known = self._verdicts[command] = self._guard.judge(command)
        return known

    def clear(
        self, subtask: int, text: str, key: str, *, unconfirmed: Verdict | None = None
    ) -> Verdict:
        """The verdict on a text of a subtask that is about to run under that key.

        An approval turns `approve` into `allow`, never a `deny`, and is used up by that key, for
        good, before this returns. `unconfirmed` is the verdict on what the guard allows and a
        person has to confirm all the same.
        """
        verdict = self._needed(text, unconfirmed)
        if verdict.allowed or verdict.denied:
            return verdict
        if not self._approvals.spend(subtask, text, key):
            return verdict
        self._cleared.add((key, text))
        return ALLOWED

    def unapproved(
        self, subtask: int, text: str, *, unconfirmed: Verdict | None = None
    ) -> Verdict | None:
        """The verdict on a text that a person has yet to approve; None when it need not wait."""
        verdict = self._needed(text, unconfirmed)
        if verdict.allowed or verdict.denied or self._approvals.holds(subtask, text):
            return None
        return verdict

    def look(self, call: Call) -> CommandResult:
        """Run what the guard allows, or what was cleared under the key of the call.

        It may run again and again: the host keeps nothing under that key. Raises Defect for
        anything else, and what the shell raises.
        """
        self._check(call)
        return self._shell.run(replace(call, key=None), cancelled=self._withdrawn)

    def run(self, call: Call, *, on_output: OnOutput, cancelled: Cancelled) -> CommandResult:
        """The same, effectively once for its key (`workers.shells.ports.Shell.run`).

        What was started under its key before is only waited for, whatever the guard says now.
        """
        if call.key is None or self.recalled(call.key) is None:
            self._check(call)
        return self._shell.run(
            call, on_output=on_output, cancelled=lambda: self._withdrawn() or cancelled()
        )

    def pipeline(self, calls: Generator[Call]) -> None:
        """Announce to the host what `look` and `run` will ask next, as it wants to know it.

        Raises Defect, there, for what the guard does not allow.
        """
        self._shell.pipeline(self._checked(calls))

    def cancel_pipeline(self) -> None:
        """Have nothing more of it started; what was started is recalled."""
        self._shell.cancel_pipeline()

    def recalled(self, key: str) -> Recalled | None:
        """What an earlier driver of the pass started under that key."""
        return self._shell.recalled(key)

    def _needed(self, text: str, unconfirmed: Verdict | None) -> Verdict:
        verdict = self.verdict(text)
        return unconfirmed if verdict.allowed and unconfirmed is not None else verdict

    def _checked(self, calls: Generator[Call]) -> Generator[Call]:
        with closing(calls):
            for call in calls:
                if not self.verdict(call.command).allowed:
                    raise Defect("a command that is not allowed was announced", stage="guard")
                yield call

    def _check(self, call: Call) -> None:
        cleared = (call.key, call.command) in self._cleared
        if not cleared and not self.verdict(call.command).allowed:
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
        return self._look(command).stdout.decode(errors="replace")

    def holds(self, command: str) -> bool:
        """Whether the command exits with 0; False when it may not run."""
        return self.door.verdict(command).allowed and self._look(command).ok

    def _look(self, command: str) -> CommandResult:
        return self.door.look(Call(command, self.timeout))
