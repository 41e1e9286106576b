"""The only door through which commands reach a host, and all that they must get past there."""

from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath
from typing import Protocol

from shared.domain.attempt import CommandResult, OnOutput
from shared.domain.containment import Containment, Hidden
from shared.domain.errors import Defect
from shared.domain.verdict import ALLOWED, Verdict, VerdictKind
from shared.secrets.masking import Masker
from workers.passes.ports import Cancelled
from workers.shells.ports import Call, Shell
from workers.shells.questions import asks
from workers.shells.records import CommandRecord

_OF_THE_SHELL = frozenset(
    {
        *("[", ":", ".", "break", "cd", "command", "continue", "echo", "eval", "exec", "exit"),
        *("export", "false", "printf", "pwd", "read", "readonly", "return", "set", "shift", "test"),
        *("times", "trap", "true", "type", "ulimit", "umask", "unset", "wait"),
    }
)
"""Built-ins of the shell; the programs that they start are checked separately."""

Programs = Callable[[str], Collection[str] | None]
"""Names all programs that a text starts, None if they cannot be determined."""

Variables = Callable[[str], Mapping[str, str]]
"""The environment variables that a command needs besides those of a login."""


class Judge(Protocol):
    """The guard, as shells need it (`shared.guard`)."""

    def judge(self, command: str, interpreter: str = "sh") -> Verdict:
        """The verdict on a command in the bytes that will reach the host."""
        ...


class Containing(Protocol):
    """Which looks run contained (`shared.guard.contained_looks`)."""

    hidden: Hidden

    def is_contained(
        self, text: str, verdict: Verdict, containment: Callable[[], Containment]
    ) -> bool:
        """Whether a look with that verdict runs contained on the host."""
        ...


class PassJudge:
    """Everything that a text of a pass must get past: secrets in it, the guard, the step's tools.

    A text that contains the value of a secret is denied; the reason shows no value. A step that
    names its tools may start only those and the built-ins of the shell (S3.10). If the programs
    cannot be determined, a person decides.
    """

    def __init__(
        self,
        guard: Judge,
        masker: Masker,
        *,
        programs: Programs | None = None,
        tools: Collection[str] | None = None,
    ) -> None:
        """`tools` are the programs that the step may start, None for any."""
        self._guard = guard
        self._masker = masker
        self._programs = programs
        self._tools = tools

    def judge(self, command: str, interpreter: str = "sh") -> Verdict:
        """The first denial; without one, the last reason to ask a person."""
        names = self._masker.names_in(command)
        if names:
            return _has_secrets(names)
        verdict = self._guard.judge(command, interpreter)
        if verdict.denied or self._tools is None or self._programs is None:
            return verdict
        return _beyond(self._tools, self._programs(command)) or verdict


def _has_secrets(names: Collection[str]) -> Verdict:
    written = ", ".join(f"${{secret:{name}}}" for name in names)
    reason = f"it contains a secret in plain text; write {written} instead of the value"
    return Verdict(VerdictKind.DENY, "secrets", reason)


def _beyond(tools: Collection[str], started: Collection[str] | None) -> Verdict | None:
    """Why a text that starts those programs may not simply run; None if all are tools."""
    if started is None:
        reason = "the step may use only its own tools, and the programs cannot be determined"
        return Verdict(VerdictKind.APPROVE, "allowed_tools", reason)
    foreign = sorted(program for program in started if not _is_tool(program, tools))
    if not foreign:
        return None
    reason = (
        f"the step may not use {', '.join(foreign)}; its tools are {', '.join(tools) or 'none'}"
    )
    return Verdict(VerdictKind.DENY, "allowed_tools", reason, foreign[0])


def _is_tool(program: str, tools: Collection[str]) -> bool:
    return program in tools or PurePosixPath(program).name in tools or program in _OF_THE_SHELL


class Door:
    """A host behind the guard: only texts that the guard has judged byte for byte pass (X18).

    The door keeps one verdict for each text, so a repeated check is judged once per pass. A text
    that needs an approval passes once it is permitted; a denied text never passes. A command gets
    its secrets here, after the guard has seen their names; `gave_secrets` is True once one has run
    with variables.
    """

    def __init__(
        self,
        shell: Shell,
        guard: Judge,
        *,
        withdrawn: Cancelled = lambda: False,
        variables: Variables | None = None,
        containing: Containing | None = None,
    ) -> None:
        """Without `containing`, no look runs contained."""
        self.gave_secrets = False
        self._variables = variables
        self._permitted: set[tuple[str | None, str]] = set()
        self._withdrawn = withdrawn
        self._shell = shell
        self._guard = guard
        self._verdicts: dict[str, Verdict] = {}
        self._containing = containing
        self._contained: dict[str, bool] = {}

    def verdict(self, command: str) -> Verdict:
        """The guard's verdict, whatever a person may have approved."""
        known = self._verdicts.get(command)
        if known is None:
            known = self._verdicts[command] = self._guard.judge(command)
        return known

    def look_verdict(self, command: str) -> Verdict:
        """The verdict on a text that is looked at: contained, it can change nothing.

        Raises what the shell raises.
        """
        return ALLOWED if self.is_contained(command) else self.verdict(command)

    def permit(self, text: str, key: str) -> None:
        """Let a text through under that key: a person's approval was spent on it."""
        self._permitted.add((key, text))

    def look(self, call: Call) -> CommandResult:
        """Run a command contained; or one that is allowed, or was permitted under the call's key.

        It may run any number of times: the host keeps nothing under that key. Raises Defect for
        any other command, and what the shell raises.
        """
        if self.is_contained(call.command) and not self._is_permitted(call):
            looked = replace(call, key=None, contained=True)
            return self._shell.run(looked, cancelled=self._withdrawn)
        self._check(call)
        return self._shell.run(self._prepare(replace(call, key=None)), cancelled=self._withdrawn)

    def run(self, call: Call, *, on_output: OnOutput, cancelled: Cancelled) -> CommandResult:
        """Run it effectively once for its key (`workers.shells.ports.Shell.run`).

        If it was started under its key before, only wait for it, whatever the guard says now.
        """
        if call.key is None or self.recall(call.key) is None:
            self._check(call)
        return self._shell.run(
            self._prepare(call),
            on_output=on_output,
            cancelled=lambda: self._withdrawn() or cancelled(),
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
                if call.is_look and self.is_contained(call.command):
                    yield replace(call, contained=True)
                    continue
                if not self.verdict(call.command).allowed:
                    raise Defect("a command that is not allowed was announced", stage="guard")
                yield self._with_variables(call)

    def _prepare(self, call: Call) -> Call:
        prepared = self._with_variables(call)
        self.gave_secrets = self.gave_secrets or bool(prepared.variables)
        return prepared

    def _with_variables(self, call: Call) -> Call:
        named = None if self._variables is None else self._variables(call.command)
        return replace(call, variables=named) if named else call

    def is_contained(self, command: str) -> bool:
        """Whether a look at that text runs contained. Raises what the shell raises."""
        known = self._contained.get(command)
        if known is None:
            known = self._contained[command] = self._find_contained(command)
        return known

    def _find_contained(self, command: str) -> bool:
        containing = self._containing
        if containing is None or asks(command):
            return False
        there = partial(self._shell.containment, containing.hidden)
        return containing.is_contained(command, self.verdict(command), there)

    def _is_permitted(self, call: Call) -> bool:
        return (call.key, call.command) in self._permitted

    def _check(self, call: Call) -> None:
        verdict = self.verdict(call.command)
        permitted = not verdict.denied and self._is_permitted(call)
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
