"""Commands judged as parts of one plan: what one of them writes, another must not run unseen."""

from collections.abc import Iterable

from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.guard import Guard

_ASKED = "it runs what lies in its directory, and another command of the same plan writes there"


class PlanGuard:
    """A guard that knows all commands of a plan. Thread-safe."""

    def __init__(self, guard: Guard, commands: Iterable[str], interpreter: str = "sh") -> None:
        """Read all that the plan may run; its order does not matter."""
        listed = list(commands)
        guard.judge_all(listed, interpreter)
        self._guard = guard
        self._code_written = any(guard.judged(text, interpreter).writes_code for text in listed)

    @property
    def version(self) -> str:
        """That of the guard: the plan is a part of what is judged."""
        return self._guard.version

    def judge(self, command: str, interpreter: str = "sh") -> Verdict:
        """The guard's verdict; a script, test or build target that the plan may have written asks.

        Never raises: what cannot be judged needs an approval.
        """
        judged = self._guard.judged(command, interpreter)
        if judged.verdict.allowed and self._code_written and judged.runs_code:
            return Verdict(VerdictKind.APPROVE, "written-script", _ASKED, judged.runs_code)
        return judged.verdict
