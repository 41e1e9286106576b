"""Means that carry out subtasks without a shell, as an agent would, and as a test says."""

from collections.abc import Collection, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime

from shared.domain.attempt import AgentResult, AgentStatus, Attempt, CommandResult, EndedBy, Ran
from shared.domain.errors import Defect
from shared.domain.outcome import Outcome
from shared.domain.plan import Subtask, SubtaskKind
from shared.domain.preview import Preview
from shared.domain.question import Question
from shared.domain.verdict import ALLOWED, Verdict, VerdictKind
from workers.passes.means import Coming, Try
from workers.passes.outcomes import outcome_of
from workers.passes.ports import PassControl

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclass
class Workshop:
    """Where the work is done: it outlives the means, as a host outlives its drivers.

    `done` is all that was carried out, in order, `begun` what is known under a key. A task that is
    in `works` is done well and makes true what it says there; every other fails. What is to be
    looked at is green once it is true.
    """

    works: Mapping[str, str] = field(default_factory=dict)
    true: set[str] = field(default_factory=set)
    done: list[str] = field(default_factory=list)
    begun: dict[str, tuple[Try, AgentResult]] = field(default_factory=dict)

    def do(self, key: str, this: Try, ended_by: EndedBy | None = None) -> AgentResult:
        """Carry out a task once for its key."""
        if key not in self.begun:
            makes = None if ended_by else self.works.get(this.command)
            if ended_by is None:
                self.done.append(this.command)
            if makes is not None:
                self.true.add(makes)
            status = AgentStatus.ERROR if makes is None else AgentStatus.OK
            said = f"{this.command}: {status}"
            self.begun[key] = this, AgentResult(status, said, NOON, NOON, ended_by=ended_by)
        return self.begun[key][1]


class ScriptedMeans:
    """Works in a workshop; see `workers.passes.means.Means`.

    `remedies` are what is tried in place of a failed task: the name of the remedy and the task.
    `denied` is never done, `asked` only once it is permitted, and `changing` must not be looked at
    in a dry run. `resumed` says that another driver was at the pass before.
    """

    kinds: Collection[SubtaskKind] = frozenset({SubtaskKind.COMMAND})
    waits: Collection[str] = frozenset({"waited"})

    def __init__(
        self,
        workshop: Workshop,
        control: PassControl,
        *,
        remedies: Mapping[str, tuple[str, str]] | None = None,
        denied: Collection[str] = (),
        asked: Collection[str] = (),
        changing: Collection[str] = (),
        resumed: bool = False,
    ) -> None:
        self.announced: list[str] = []
        self.closed = False
        self._workshop = workshop
        self._control = control
        self._remedies = remedies or {}
        self._denied, self._asked, self._changing = denied, asked, changing
        self._permitted: set[tuple[str, str | None]] = set()
        self._recalled = set(workshop.begun) if resumed else set()
        self._coming: Generator[Coming] | None = None

    def verdict(self, text: str) -> Verdict:
        """As the test says."""
        if text in self._denied:
            return Verdict(VerdictKind.DENY, "test", "denied by the test")
        if text in self._asked:
            return Verdict(VerdictKind.APPROVE, "test", "asked by the test")
        return ALLOWED

    def preview(self, text: str) -> Preview | None:  # noqa: ARG002 - a means' promise
        """None."""
        return None

    def settles(self, check: str) -> bool:  # noqa: ARG002 - a means' promise
        """Every check does."""
        return True

    def check_verdict(self, text: str) -> Verdict:
        """As for any text."""
        return self.verdict(text)

    def look_verdict(self, text: str) -> Verdict:
        """As the test says."""
        if text in self._changing:
            return Verdict(VerdictKind.DENY, "test", "it changes something")
        return self.verdict(text)

    def permit(self, text: str, key: str) -> None:
        """Remember it."""
        self._permitted.add((text, key))

    def look(self, text: str, *, timeout: float, key: str | None = None) -> CommandResult:
        """Green once it is true."""
        assert timeout > 0
        self._check(text, key)
        if self._control.withdrawn():
            return _result(text, None, EndedBy.CANCEL)
        return _result(text, int(text not in self._workshop.true))

    def recall(self, key: str) -> Try | None:
        """What another driver has begun."""
        return self._workshop.begun[key][0] if key in self._recalled else None

    def run(
        self,
        subtask: Subtask,
        draft: Attempt,
        this: Try,
        *,
        may_change: bool,  # noqa: ARG002
    ) -> tuple[Try, AgentResult]:
        """Do it in the workshop."""
        assert subtask.timeout > 0
        if self.recall(draft.key) is None:
            self._check(this.command, draft.key)
        self._take(draft.key)
        ended_by = EndedBy.CANCEL if self._is_stopped(draft.key) else None
        result = self._workshop.do(draft.key, this, ended_by)
        self._control.output(draft.key, "stdout", result.streams[0])
        return this, result

    def outcome(
        self,
        subtask: Subtask,  # noqa: ARG002
        result: Ran,
        check: CommandResult | None,
    ) -> tuple[Outcome, str]:
        """The check decides."""
        return outcome_of(result, check)

    def question(self, attempt: Attempt) -> Question | None:  # noqa: ARG002
        """It never asks."""
        return None

    def remedy(
        self,
        subtask: Subtask,  # noqa: ARG002
        failed: Attempt,  # noqa: ARG002
        planned: str,
        *,
        used: Collection[str],
        tried: Collection[str],
    ) -> Try | None:
        """The one that the test has for it, once."""
        name, command = self._remedies.get(planned, ("", ""))
        if not name or name in used or command in tried:
            return None
        return Try(command, name, planned)

    def pipeline(self, coming: Generator[Coming]) -> None:
        """Take from it one by one."""
        self.cancel_pipeline()
        self._coming = coming

    def cancel_pipeline(self) -> None:
        """Close what was announced."""
        if self._coming is not None:
            self._coming.close()
            self._coming = None

    def close(self) -> None:
        """Remember it."""
        self.cancel_pipeline()
        self.closed = True

    def _take(self, key: str) -> None:
        with closing(self._coming or _nothing()) as coming:
            found = next(coming, None)
            if found is not None and found.key == key:
                self.announced.append(key)
        self._coming = None

    def _is_stopped(self, key: str) -> bool:
        return self._control.withdrawn() or self._control.unwanted(key)

    def _check(self, text: str, key: str | None) -> None:
        verdict = self.verdict(text)
        permitted = not verdict.denied and (text, key) in self._permitted
        if not verdict.allowed and not permitted:
            raise Defect("the pass let through what the guard does not allow", stage="guard")


def _nothing() -> Generator[Coming]:
    yield from ()


def _result(command: str, exit_code: int | None, ended_by: EndedBy | None = None) -> CommandResult:
    said = b"" if exit_code is None else f"{command}: {exit_code}\n".encode()
    return CommandResult(command, exit_code, said, b"", NOON, NOON, ended_by=ended_by)
