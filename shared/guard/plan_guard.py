"""Commands judged as parts of one plan: what one of them writes, another must not run unseen."""

from collections.abc import Callable, Iterable

from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.guard import Guard

_ASKED = "it runs what lies in its directory, and another command of the same plan writes there"


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
        """Read all that this part of the plan may run; its order does not matter.

        `elsewhere` gives the commands of the other parts. It is asked once, and only when a command
        runs code that one of them may have written.
        """
        listed = list(commands)
        guard.judge_all(listed, interpreter)
        self._guard = guard
        self._interpreter = interpreter
        self._elsewhere = elsewhere
        self._code_written: bool | None = self._writes_code(listed) or None

    @property
    def version(self) -> str:
        """That of the guard: the plan is a part of what is judged."""
        return self._guard.version

    def judge(self, command: str, interpreter: str = "sh") -> Verdict:
        """The guard's verdict; a script, test or build target that the plan may have written asks.

        Never raises: what cannot be judged needs an approval.
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
