"""Judges commands as parts of one plan: none may run unseen what another one writes."""

from collections.abc import Callable, Iterable

from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.guard import Guard

_ASKED = "it runs code from its directory, and another command of the same plan writes there"


class PlanGuard:
    """A guard that knows all commands of a plan. Thread-safe."""

    def __init__(
        self,
        guard: Guard,
        commands: Iterable[str],
        interpreter: str = "sh",
        *,
        elsewhere: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        """Read all that this part of the plan may run, in any order.

        `elsewhere` returns the commands of the other parts. It is called once, and only if a
        command runs code that one of them may have written.
        """
        listed = list(commands)
        guard.judge_all(listed, interpreter)
        self._guard = guard
        self._interpreter = interpreter
        self._elsewhere = elsewhere
        self._code_written: bool | None = self._writes_code(listed) or None

    @property
    def version(self) -> str:
        """The guard's version: the plan is part of the input."""
        return self._guard.version

    def judge(self, command: str, interpreter: str = "sh") -> Verdict:
        """The guard's verdict, but code that the plan may have written needs an approval.

        That is a script, test or build target. Never raises: a command that cannot be judged needs
        an approval.
        """
        judged = self._guard.judge_part(command, interpreter)
        if judged.verdict.allowed and judged.runs_code and self._may_have_been_written():
            return Verdict(VerdictKind.APPROVE, "written-script", _ASKED, judged.runs_code)
        return judged.verdict

    def _may_have_been_written(self) -> bool:
        if self._code_written is None:
            listed = list(self._elsewhere())
            self._guard.judge_all(listed, self._interpreter)
            self._code_written = self._writes_code(listed)
        return self._code_written

    def _writes_code(self, commands: Iterable[str]) -> bool:
        return any(self._guard.judge_part(text, self._interpreter).writes_code for text in commands)
