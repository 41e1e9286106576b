"""A guard for the commands of a plan, which knows what else is on their host because of plans."""

from collections.abc import Callable, Iterable, Mapping

from shared.domain.provenance import Mark, MarkKind
from shared.domain.verdict import ALLOWED, Verdict, VerdictKind
from shared.guard.guard import Guard, Judged
from shared.guard.paths import START
from shared.guard.policy.configured import Configuring
from shared.guard.provenance import Origin, Provenance
from shared.guard.provenance_paths import placed
from shared.guard.publication import Publication, Put
from shared.guard.traces import Traces, Use
from shared.guard.unpackings import Unpacking, unpacking_objection

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
        start: str | None = None,
    ) -> None:
        """Read all that this part of the plan may run, in any order; its rollbacks, too.

        `elsewhere` returns the same of the other parts, and `remembered` what earlier tasks
        left on the host, with the name of the task. Each is called once, and only if a command
        runs code or changes files. `start` is the folder in which the commands start, None if it
        is the account's home or not known.
        """
        self._guard = guard
        self._interpreter = interpreter
        self._elsewhere = elsewhere
        self._remembered = remembered
        self._start = "" if start is None else placed(start, START)
        judged = self._judge_parts(commands)
        self._code_written = any(each.writes_code for each in judged)
        self._configuring = [each.configuring for each in judged]
        self._configuring_elsewhere: list[Configuring] = []
        self._traces = [each.traces for each in judged]
        self._traces_elsewhere: list[Traces] = []
        self._marked = _marks_of(judged)
        self._here = Provenance(self._marked, Origin(), start=self._start)
        self._others: Provenance | None = None
        self._earlier: Provenance | None = None
        self._publication: Publication | None = None
        self._marked_elsewhere: tuple[Mark, ...] = ()
        self._marked_earlier: tuple[Mark, ...] = ()

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
            verdict = self._unsettled(judged.configuring) or judged.settled
        if verdict.kind is VerdictKind.APPROVE and self._takes_back(judged.configuring):
            return ALLOWED
        if not verdict.allowed:
            return verdict
        if judged.runs_code and self._may_have_been_written():
            return Verdict(VerdictKind.APPROVE, "written-script", _CODE_OF_PLAN, judged.runs_code)
        objection = self._objection(judged.traces.uses)
        return (
            objection
            or self._published(judged.traces.puts)
            or self._unpacked(judged.traces.unpackings)
            or verdict
        )

    def _unsettled(self, configuring: Configuring) -> Verdict | None:
        """What the whole plan leaves without a way back, or without a test."""
        if configuring.unsettled(self._configuring) is None:
            return None
        self._of_others()
        return configuring.unsettled((*self._configuring, *self._configuring_elsewhere))

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

    def _published(self, puts: tuple[Put, ...]) -> Verdict | None:
        if not puts:
            return None
        if self._publication is None:
            self._of_others()
            self._of_earlier()
            marks = (*self._marked, *self._marked_elsewhere, *self._marked_earlier)
            self._publication = Publication(marks, self._start)
        return self._publication.objection(puts)

    def _unpacked(self, mine: tuple[Unpacking, ...]) -> Verdict | None:
        if not mine:
            return None
        self._of_others()
        self._of_earlier()
        listed = (*self._traces, *self._traces_elsewhere)
        others = [each for left in listed for each in left.unpackings]
        got = {path for left in listed for path in left.fetched}
        copies = (copy for left in listed for copy in left.copies)
        here = (*self._marked, *self._marked_elsewhere, *copies)
        return unpacking_objection(mine, others, got, here, self._marked_earlier)

    def _of_others(self) -> Provenance:
        if self._others is None:
            judged = self._judge_parts(self._elsewhere())
            self._code_written = self._code_written or any(each.writes_code for each in judged)
            self._configuring_elsewhere = [each.configuring for each in judged]
            self._traces_elsewhere = [each.traces for each in judged]
            self._marked_elsewhere = tuple(_marks_of(judged))
            self._others = Provenance(self._marked_elsewhere, Origin(), start=self._start)
        return self._others

    def _of_earlier(self) -> Provenance:
        if self._earlier is None:
            left = self._remembered()
            self._marked_earlier = tuple(left)
            origins = {mark: Origin(task) for mark, task in left.items()}
            copied = [mark for mark in self._marked if mark.kind is MarkKind.COPIED]
            marks = (*left, *(copied if left else ()))
            self._earlier = Provenance(marks, origins, near=False, start=self._start)
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
    return [mark for each in judged for mark in (*each.traces.marks, *each.traces.guesses)]
