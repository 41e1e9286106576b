"""A guard for the commands of a plan, which knows what else is on their host because of plans."""

from collections.abc import Callable, Iterable, Mapping

from shared.domain.provenance import Mark, MarkKind
from shared.domain.verdict import ALLOWED, Verdict, VerdictKind
from shared.guard.guard import Guard, Judged
from shared.guard.policy.configured import Configuring
from shared.guard.provenance import Origin, Provenance
from shared.guard.traces import Use

_CODE_OF_PLAN = "it runs code from its directory, and another command of the same plan writes there"
_NOTHING: Mapping[Mark, str] = {}


def _nothing() -> Mapping[Mark, str]:
    return _NOTHING


class PlanGuard:
    """A guard that knows all commands of a plan, and what earlier tasks left. Thread-safe."""

    def __init__(
        self,
        guard: Guard,
        commands: Iterable[str],
        interpreter: str = "sh",
        *,
        elsewhere: Callable[[], Iterable[str]] = tuple,
        remembered: Callable[[], Mapping[Mark, str]] = _nothing,
    ) -> None:
        """Read all that this part of the plan may run, in any order.

        `elsewhere` returns the commands of the other parts, and `remembered` what earlier tasks
        left on the host, with the name of the task. Each is called once, and only if a command
        runs code or changes files.
        """
        self._guard = guard
        self._interpreter = interpreter
        self._elsewhere = elsewhere
        self._remembered = remembered
        judged = self._judge_parts(commands)
        self._code_written = any(each.writes_code for each in judged)
        self._configuring = [each.configuring for each in judged]
        self._marked = _marks_of(judged)
        self._here = Provenance(self._marked, Origin())
        self._others: Provenance | None = None
        self._earlier: Provenance | None = None

    @property
    def version(self) -> str:
        """The guard's version: the plan is part of the input."""
        return self._guard.version

    def judge(self, command: str, interpreter: str = "sh") -> Verdict:
        """The guard's verdict, but what plans may have written, brought or linked needs a person.

        That is a script, a test, a build target, the configuration of what runs it, and whatever
        lies behind a link. Never raises: a command that cannot be judged needs an approval.
        """
        judged = self._guard.judge_part(command, interpreter)
        verdict = judged.verdict
        if judged.settled is not None and judged.configuring.changes:
            verdict = judged.configuring.unsettled(self._configuring) or judged.settled
        if verdict.kind is VerdictKind.APPROVE and self._takes_back(judged.configuring):
            return ALLOWED
        if not verdict.allowed:
            return verdict
        if judged.runs_code and self._may_have_been_written():
            return Verdict(VerdictKind.APPROVE, "written-script", _CODE_OF_PLAN, judged.runs_code)
        return self._objection(judged.traces.uses) or verdict

    def _takes_back(self, configuring: Configuring) -> bool:
        """Whether all that a command does is to remove configuration that the plan writes."""
        removed = configuring.removed
        return bool(removed) and all(
            any(path in c.placed for c in self._configuring) for path in removed
        )

    def marks(self, commands: Iterable[str]) -> tuple[Mark, ...]:
        """What these commands may leave on the host."""
        return tuple(dict.fromkeys(_marks_of(self._judge_parts(commands))))

    def _objection(self, uses: tuple[Use, ...]) -> Verdict | None:
        if not uses:
            return None
        held = self._guard.misplaced
        found = self._here.objection(uses, held) or self._of_others().objection(uses, held)
        return found or self._of_earlier().objection(uses, held)

    def _of_others(self) -> Provenance:
        if self._others is None:
            judged = self._judge_parts(self._elsewhere())
            self._code_written = self._code_written or any(each.writes_code for each in judged)
            self._others = Provenance(_marks_of(judged), Origin())
        return self._others

    def _of_earlier(self) -> Provenance:
        if self._earlier is None:
            left = self._remembered()
            origins = {mark: Origin(task) for mark, task in left.items()}
            copied = [mark for mark in self._marked if mark.kind is MarkKind.COPIED]
            self._earlier = Provenance((*left, *(copied if left else ())), origins, near=False)
        return self._earlier

    def _may_have_been_written(self) -> bool:
        if not self._code_written:
            self._of_others()
        return self._code_written

    def _judge_parts(self, commands: Iterable[str]) -> list[Judged]:
        listed = list(dict.fromkeys(commands))
        self._guard.judge_all(listed, self._interpreter)
        return [self._guard.judge_part(text, self._interpreter) for text in listed]


def _marks_of(judged: Iterable[Judged]) -> list[Mark]:
    return [mark for each in judged for mark in each.traces.marks]
