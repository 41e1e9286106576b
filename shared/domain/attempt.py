"""An attempt: one try of one subtask in one run, and what came of it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from shared.domain.agent import ExecutionMode
from shared.domain.compliance import Violation
from shared.domain.containment import Networks
from shared.domain.outcome import COUNTED, Outcome
from shared.domain.prediction import Prediction
from shared.domain.preview import Preview
from shared.domain.question import Question
from shared.domain.spending import CapReached
from shared.domain.transcript import RunnerOutput
from shared.domain.workspace import WorkspaceRemarks

_PROCESS = re.compile(r"(\d+)\((.*)\)", re.DOTALL)


class Answer(StrEnum):
    """What a person says about an attempt whose outcome is unknown."""

    RAN = "ran"  # it ran, and well: it is not run again
    NOT_RUN = "not_run"
    AGAIN = "again"


SAID = {
    Answer.RAN: "it ran, says a person",
    Answer.NOT_RUN: "it did not run, says a person",
    Answer.AGAIN: "it is to be run again, says a person",
}
"""Each answer in words."""


def explain(reason: str, prediction: Prediction | None, told_by_person: Answer | None) -> str:
    """Why an attempt has its outcome, as people and planners read it.

    `reason` is what the pass recorded. If a person says that the command ran, that answer replaces
    the reason; any other answer follows it.
    """
    if told_by_person is Answer.RAN:
        return SAID[Answer.RAN]
    parts = (f"dry run: {prediction}", reason) if prediction else (reason,)
    whole = ": ".join(filter(None, parts))
    said = SAID[told_by_person] if told_by_person else ""
    return "; ".join(filter(None, (whole, said)))


def describe_left(left_over: Sequence[str], ended_by: "EndedBy | None") -> str:
    """What a command left running, in words: "left running: sleep (1234)"; empty for nothing.

    Also empty for what could not be ended: the reason of the attempt says that.
    """
    if not left_over or ended_by is not None:
        return ""
    named = [_PROCESS.sub(r"\2 (\1)", each) for each in left_over if not each.startswith("+")]
    more = [f"{each[1:]} more" for each in left_over if each.startswith("+")]
    return "left running: " + " and ".join((", ".join(named), *more))


class EndedBy(StrEnum):
    """Who or what ended a command that did not end by itself."""

    TIMEOUT = "timeout"
    CANCEL = "cancel"  # its task, run or pass was cancelled
    OPERATOR = "operator"  # a person ended this one attempt; the pass goes on
    WATCHDOG = "watchdog"  # an agent that made no progress; the pass goes on
    SPENDING = "spending"  # an agent whose next call to a model could not be paid


class Signal(StrEnum):
    """The signal that ended a command."""

    TERM = "TERM"
    KILL = "KILL"  # TERM did not end it


class Unknown(StrEnum):
    """Why nobody can say how a command ended."""

    HOST_RESTARTED = "host_restarted"
    NO_RECORD = "no_record"  # the host was restarted, and has no record of the command
    RECORD_REMOVED = "record_removed"  # the host keeps records for two days
    OTHER_CONTAINER = "other_container"  # its processes cannot be seen from where we are
    SHELL_KILLED = "shell_killed"


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command did.

    The streams are raw bytes, kept separately (S0.32). `exit_code` is None when somebody ended the
    command (`ended_by`, with `signal`) or when its outcome is not known (`unknown` says why).
    `left_over` names what it had started and still ran after its end, as "pid(name)", eight at
    most, then "+3" for three more: processes that could not be ended if `ended_by` says who tried,
    otherwise what the command left running, which is no error. `dropped` counts the bytes of each
    stream beyond the cap, which were not kept.
    """

    command: str
    exit_code: int | None
    stdout: bytes
    stderr: bytes
    started_at: datetime
    ended_at: datetime
    stdout_dropped: int = 0
    stderr_dropped: int = 0
    ended_by: EndedBy | None = None
    signal: Signal | None = None
    left_over: tuple[str, ...] = ()
    unknown: Unknown | None = None

    @property
    def ok(self) -> bool:
        """True when it ended by itself with exit code 0."""
        return self.exit_code == 0

    @property
    def timed_out(self) -> bool:
        """True when its timeout ended it."""
        return self.ended_by is EndedBy.TIMEOUT

    @property
    def cancelled(self) -> bool:
        """True when it was cancelled, alone or with everything else that was to run."""
        return self.ended_by in {EndedBy.CANCEL, EndedBy.OPERATOR}

    @property
    def streams(self) -> tuple[bytes, bytes]:
        """Standard output and standard error."""
        return self.stdout, self.stderr


class AgentStatus(StrEnum):
    """What an agent reports about its work (S3.24)."""

    OK = "ok"
    NEEDS_INPUT = "needs_input"
    ERROR = "error"
    TIMEOUT = "timeout"
    BLOCKED = "blocked"
    PARTIAL = "partial"


@dataclass(frozen=True, slots=True)
class AgentResult:
    """What an agent did in a repository.

    `summary` is in its own words, `changed_files` are not: they are what differs between the commit
    `base` and `tree`, the git tree that it left behind. `before` is the tree that it began with,
    and `began` the one with which the first attempt began whose work it went on with. `steering`
    are the changed files that steer agents, CI or git. `session` is
    the handle to resume it, `question` what it waits for, and `call` the handle of that question;
    `questions` counts what it has asked, None where its runner does not say it (X13). `stuck`
    counts how often its watchdog found it without progress, `violations` are those of the
    autonomous protocol; `mode` and `time_budget` (seconds) are what it was told. `cost` is in US
    dollars, None where nobody knows it. `runner` is the program that it is, `version` and `model`
    what that program said of itself. `workspace` is what is worth knowing about the place of its
    work. `ended_by`, `left_over` and `unknown` mean what they mean for a command. `unpaid` is the
    cap that its next call to a model would have exceeded, if that is why it did not finish.
    `structured` is its answer in the form that it was asked for. `not_started` says why its runner
    could not be started at all. `networks` is what its containment let it reach, None if it did not
    run contained. Only who ran it has its `output`:
    it is kept apart from the rest.
    """

    status: AgentStatus
    summary: str
    started_at: datetime
    ended_at: datetime
    changed_files: tuple[str, ...] = ()
    steering: tuple[str, ...] = ()
    tokens: int = 0
    cost: Decimal | None = Decimal(0)
    session: str | None = None
    tree: str | None = None
    base: str | None = None
    before: str | None = None
    began: str | None = None
    runner: str = ""
    version: str = ""
    model: str = ""
    question: Question | None = None
    call: str = ""
    questions: int | None = 0
    stuck: int = 0
    violations: tuple[Violation, ...] = ()
    mode: ExecutionMode | None = None
    time_budget: float | None = None
    workspace: WorkspaceRemarks = field(default_factory=WorkspaceRemarks)
    ended_by: EndedBy | None = None
    signal: Signal | None = None
    left_over: tuple[str, ...] = ()
    unknown: Unknown | None = None
    output: RunnerOutput | None = None
    unpaid: CapReached | None = None
    structured: dict[str, Any] | None = None
    not_started: str = ""
    networks: Networks | None = None

    @property
    def ok(self) -> bool:
        """True when it ended by itself and reports that all of it is done."""
        return self.status is AgentStatus.OK and self.ended_by is None and self.unknown is None

    @property
    def timed_out(self) -> bool:
        """True when its timeout ended it."""
        return self.ended_by is EndedBy.TIMEOUT

    @property
    def cancelled(self) -> bool:
        """True when it was cancelled, alone or with everything else that was to run."""
        return self.ended_by in {EndedBy.CANCEL, EndedBy.OPERATOR}

    @property
    def streams(self) -> tuple[bytes, bytes]:
        """Its summary, in place of the output of a command."""
        return self.summary.encode(), b""


Ran = CommandResult | AgentResult
"""The result of carrying out a subtask."""

OnOutput = Callable[[str, bytes], None]
"""Called with ("stdout" or "stderr", chunk) as output arrives."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A finished attempt as it is recorded.

    `number` counts the attempts of this subtask number in this run (`T12.2.3#number`); `try_no`
    counts within the pass; 0 is the command as planned. `correction` names the rule that changed
    the command, None for the planned one. `result` is None when nothing ran; `check` is the check
    that ran afterwards, None if there is none. A `rollback` undoes, in a later pass, what the
    subtask of that number and revision did. A `look` shows a planner something before it answers:
    its subtask is 0, and its step is 0 while the task as a whole is planned. `reason` is text for
    people: no code reads it. `rule` has refused the text, or has let one run that asks, where no
    person did; `preview` is what was seen then, or in a dry run.
    `prediction` is the result of a dry run; `told_by_person` is a person's answer about an unknown
    outcome.
    """

    key: str
    run_id: int
    step: int
    revision: int
    subtask: int
    pass_no: int
    try_no: int
    number: int
    command: str
    outcome: Outcome
    started_at: datetime
    ended_at: datetime
    correction: str | None = None
    reason: str = ""
    rule: str | None = None
    result: Ran | None = None
    check: CommandResult | None = None
    never_red: bool = False
    rollback: bool = False
    look: bool = False
    prediction: Prediction | None = None
    preview: Preview | None = None
    told_by_person: Answer | None = None

    @property
    def ended_by(self) -> EndedBy | None:
        """Who or what ended its command; None if it ended by itself or never ran."""
        return None if self.result is None else self.result.ended_by

    @property
    def explanation(self) -> str:
        """Why it has its outcome, as people and planners read it; see `explain`."""
        return explain(self.reason, self.prediction, self.told_by_person)

    @property
    def counted(self) -> bool:
        """True when it counts as an error of its step."""
        return self.outcome in COUNTED and not self.rollback and not self.look
