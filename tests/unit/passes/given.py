"""Builders and fakes for tests of passes: orders, a log, a guard and a clock."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from shared.domain.attempt import Attempt, CommandResult
from shared.domain.attempt_notes import AttemptNote
from shared.domain.author import Author, PlanningRole
from shared.domain.config import Policy
from shared.domain.host import LOCALHOST
from shared.domain.outcome import Outcome
from shared.domain.plan import Recovery, Step, Subtask, default_needs
from shared.domain.verdict import ALLOWED, Verdict, VerdictKind
from shared.secrets.sent import as_sent
from tests.fakes.scripted_shell import ScriptedShell
from workers.passes.clock import Clock
from workers.passes.passes import carry_out
from workers.passes.ports import Granted, PassLog, PassOrder, PassResult, Undo
from workers.shells.door import Judge
from workers.shells.means import ShellMeans
from workers.shells.ports import Shell

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class SteppingClock:
    """A clock that moves only when somebody waits."""

    def __init__(self) -> None:
        self.time = NOON
        self.waits: list[float] = []

    def now(self) -> datetime:
        return self.time

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += timedelta(seconds=seconds)


@dataclass
class ScriptedProbe:
    """Answers from a case; what the case does not name has failed."""

    answers: dict[str, Any]

    def ask(self, command: str) -> str:
        answer = self.answers.get(command, "")
        return answer if isinstance(answer, str) else ""

    def holds(self, command: str) -> bool:
        return self.answers.get(command, False) is not False


@dataclass
class ScriptedJudge:
    """Denies and asks for approval by pattern; remembers every text that it has judged."""

    deny: str | None = None
    approve: str | None = None
    judged: list[str] = field(default_factory=list)

    def judge(self, command: str, interpreter: str = "sh") -> Verdict:
        assert interpreter == "sh"
        self.judged.append(command)
        for kind, pattern in ((VerdictKind.DENY, self.deny), (VerdictKind.APPROVE, self.approve)):
            if pattern is not None and re.search(pattern, command):
                return Verdict(kind, rule=f"rule:{pattern}", reason=f"{kind} by the test")
        return ALLOWED


@dataclass
class MemoryLog:
    """Keeps what a pass wrote; reports a cancel once `stop` returns True."""

    stop: Callable[["MemoryLog"], bool] = lambda _: False
    unwanted_keys: set[str] = field(default_factory=set)
    begun: list[Attempt] = field(default_factory=list)
    ended: list[Attempt] = field(default_factory=list)
    outputs: list[tuple[str, str, bytes]] = field(default_factory=list)
    notes: list[tuple[str, AttemptNote]] = field(default_factory=list)

    def started(self, attempt: Attempt) -> None:
        self.begun.append(attempt)

    def output(self, key: str, stream: str, chunk: bytes) -> None:
        self.outputs.append((key, stream, chunk))

    def note(self, key: str, note: AttemptNote) -> None:
        self.notes.append((key, note))

    def finished(self, attempt: Attempt) -> None:
        self.ended.append(attempt)

    def cancelled(self) -> bool:
        return self.stop(self)

    def withdrawn(self) -> bool:
        return self.stop(self)

    def unwanted(self, key: str) -> bool:
        return key in self.unwanted_keys


@dataclass
class Pass:
    """A finished pass, with everything that it touched."""

    result: PassResult
    shell: ScriptedShell
    judge: ScriptedJudge
    log: MemoryLog
    clock: SteppingClock

    @property
    def outcomes(self) -> list[tuple[int, Outcome]]:
        return [(attempt.subtask, attempt.outcome) for attempt in self.log.ended]

    @property
    def attempts(self) -> list[Attempt]:
        return self.log.ended


def subtasks(*given: Subtask | str) -> tuple[Subtask, ...]:
    """Subtasks numbered from 1; a bare string is a command that needs the one before it."""
    made = [
        Subtask(ordinal=n, key=f"s{n}", title="", command=one) if isinstance(one, str) else one
        for n, one in enumerate(given, start=1)
    ]
    needs = default_needs(
        (s.key, None if isinstance(g, str) else s.needs) for s, g in zip(made, given, strict=True)
    )
    return tuple(
        Subtask(
            **{
                **{name: getattr(s, name) for name in Subtask.__dataclass_fields__},
                "ordinal": n,
                "needs": needs[s.key],
            }
        )
        for n, s in enumerate(made, start=1)
    )


def subtask(command: str, key: str = "s1", **fields: object) -> Subtask:
    """A subtask with the fields that the test sets."""
    return Subtask(ordinal=1, key=key, title="", command=command, **fields)  # type: ignore[arg-type]


def order(
    *given: Subtask | str,
    policy: Policy | None = None,
    earlier: Sequence[Attempt] = (),
    revision: int = 0,
    pass_no: int = 1,
    recovery: Recovery = Recovery.REPLAN,
    undo: Sequence[Undo] = (),
) -> PassOrder:
    """An order for a pass over step 1 of task T1."""
    listed = subtasks(*given)
    step = Step(
        ordinal=1,
        key="step",
        title="",
        instruction="",
        author=Author(PlanningRole.SUBTASK_PLANNER, "runbook"),
        recovery=recovery,
        subtasks=listed,
    )
    return PassOrder(
        run_id=7,
        task_ref="T1",
        target=LOCALHOST,
        step=step,
        subtasks=tuple(map(as_sent, listed)),
        revision=revision,
        pass_no=pass_no,
        policy=policy or Policy(),
        earlier=tuple(earlier),
        undo=tuple(undo),
    )


@dataclass
class Approving:
    """Approves the texts that the test names, as often as asked; keeps the keys that used them."""

    approved: Callable[[str], bool] = lambda _: False
    used: list[tuple[str, str]] = field(default_factory=list)

    def holds(self, subtask: int, text: str) -> bool:
        assert subtask
        return self.approved(text)

    def spend(self, subtask: int, text: str, key: str) -> Granted | None:
        if not self.holds(subtask, text):
            return None
        self.used.append((text, key))
        return Granted()


@dataclass
class OnceApproved:
    """Each text may start under one key."""

    texts: set[str]
    used: dict[str, str] = field(default_factory=dict)

    def holds(self, subtask: int, text: str) -> bool:  # noqa: ARG002
        return text in self.texts and text not in self.used

    def spend(self, subtask: int, text: str, key: str) -> Granted | None:  # noqa: ARG002
        mine = text in self.texts and self.used.setdefault(text, key) == key
        return Granted() if mine else None


def shell_means(
    what: PassOrder,
    shell: Shell,
    judge: Judge,
    log: PassLog,
    clock: Clock,
    *,
    looks: Judge | None = None,
) -> ShellMeans:
    """A shell as the means of a pass."""
    timeout = what.policy.check_timeout
    return ShellMeans(shell, judge, log, clock, check_timeout=timeout, looks=looks)


def carried_out(
    what: PassOrder,
    shell: ScriptedShell,
    *,
    judge: ScriptedJudge | None = None,
    looks: ScriptedJudge | None = None,
    log: MemoryLog | None = None,
    clock: SteppingClock | None = None,
    approved: Callable[[str], bool] = lambda _: False,
    settle: tuple[float, ...] = (),
) -> Pass:
    """Carry out a pass; fail if a text reached the shell that the guard had not judged."""
    judge, log, clock = judge or ScriptedJudge(), log or MemoryLog(), clock or SteppingClock()
    means = shell_means(what, shell, judge, log, clock, looks=looks)
    result = carry_out(what, means, log, clock, approvals=Approving(approved), settle=settle)
    assert set(shell.commands) <= set(judge.judged)
    return Pass(result, shell, judge, log, clock)


def ended(
    command: str = "true", exit_code: int | None = 0, stderr: str = "", stdout: str = ""
) -> CommandResult:
    """A result of a command."""
    return CommandResult(command, exit_code, stdout.encode(), stderr.encode(), NOON, NOON)


def attempt(
    subtask: int = 1,
    outcome: Outcome = Outcome.FAILED,
    *,
    number: int = 1,
    try_no: int = 0,
    revision: int = 0,
    pass_no: int = 1,
    command: str = "false",
    result: CommandResult | None = None,
    check: CommandResult | None = None,
    correction: str | None = None,
    reason: str = "",
) -> Attempt:
    """An attempt that was recorded before."""
    return Attempt(
        key=f"R7-1-r{revision}-{subtask}-p{pass_no}-t{try_no}",
        run_id=7,
        step=1,
        revision=revision,
        subtask=subtask,
        pass_no=pass_no,
        try_no=try_no,
        number=number,
        command=command,
        outcome=outcome,
        started_at=NOON,
        ended_at=NOON,
        correction=correction,
        reason=reason,
        result=result,
        check=check,
    )
