"""The guard's port, and the only door through which commands reach a host."""

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Protocol

from shared.domain.attempt import CommandResult, OnOutput
from shared.domain.errors import Defect
from shared.domain.verdict import Verdict
from workers.passes.ports import Cancelled
from workers.shells.ports import Call, Shell
from workers.shells.records import CommandRecord


class Judge(Protocol):
    """The guard, as shells need it (`shared.guard`)."""

    def judge(self, command: str, interpreter: str = "sh") -> Verdict:
        """The verdict on a command in the bytes that will reach the host."""
        ...


class Door:
    """A host behind the guard: only texts that the guard has judged byte for byte pass (X18).

    The door keeps one verdict for each text, so a repeated check is judged once per pass. A text
    that needs an approval passes once it is permitted; a denied text never passes.
    """

    def __init__(
        self,
        shell: Shell,
        guard: Judge,
        *,
        withdrawn: Cancelled = lambda: False,
    ) -> None:
        self._permitted: set[tuple[str | None, str]] = set()
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

    def permit(self, text: str, key: str) -> None:
        """Let a text through under that key: a person's approval was spent on it."""
        self._permitted.add((key, text))

    def look(self, call: Call) -> CommandResult:
        """Run a command that the guard allows, or that was permitted under the key of the call.

        It may run any number of times: the host keeps nothing under that key. Raises Defect for
        any other command, and what the shell raises.
        """
        self._check(call)
        return self._shell.run(replace(call, key=None), cancelled=self._withdrawn)

    def run(self, call: Call, *, on_output: OnOutput, cancelled: Cancelled) -> CommandResult:
        """Run it effectively once for its key (`workers.shells.ports.Shell.run`).

        If it was started under its key before, only wait for it, whatever the guard says now.
        """
        if call.key is None or self.recall(call.key) is None:
            self._check(call)
        return self._shell.run(
            call, on_output=on_output, cancelled=lambda: self._withdrawn() or cancelled()
        )

    def pipeline(self, calls: Generator[Call]) -> None:
        """Announce to the host what `look` and `run` will ask next, as it takes the calls.

        Taking a call that the guard does not allow raises Defect.
        """
        self._shell.pipeline(self._allowed_calls(calls))

    def cancel_pipeline(self) -> None:
        """Start nothing more of what was announced; `recall` returns what was started."""
        self._shell.cancel_pipeline()

    def recall(self, key: str) -> CommandRecord | None:
        """The command that an earlier driver of the pass started under that key."""
        return self._shell.recall(key)

    def _allowed_calls(self, calls: Generator[Call]) -> Generator[Call]:
        with closing(calls):
            for call in calls:
                if not self.verdict(call.command).allowed:
                    raise Defect("a command that is not allowed was announced", stage="guard")
                yield call

    def _check(self, call: Call) -> None:
        verdict = self.verdict(call.command)
        permitted = not verdict.denied and (call.key, call.command) in self._permitted
        if not verdict.allowed and not permitted:
            raise Defect("a command that the guard does not allow was about to run", stage="guard")


@dataclass(frozen=True, slots=True)
class HostProbe:
    """Looks at a host through its door (`corrections.correction.Probe`)."""

    door: Door
    timeout: float = 10.0

    def ask(self, command: str) -> str:
        """What the command printed on standard output; empty if it may not run."""
        if not self.door.verdict(command).allowed:
            return ""
        return self._look(command).stdout.decode(errors="replace")

    def holds(self, command: str) -> bool:
        """Whether the command exits with 0; False if it may not run."""
        return self.door.verdict(command).allowed and self._look(command).ok

    def _look(self, command: str) -> CommandResult:
        return self.door.look(Call(command, self.timeout))
