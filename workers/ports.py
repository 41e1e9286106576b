"""What the workers need from outside, as plain nouns."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from shared.domain.approval import Part
from shared.domain.attempt import Attempt, CommandResult, OnOutput
from shared.domain.budget import Ending
from shared.domain.bundle import Bundle
from shared.domain.config import Policy
from shared.domain.error_class import ErrorClass
from shared.domain.errors import Rejected
from shared.domain.host import Host
from shared.domain.plan import Plan, Revision, Step, Subtask
from shared.domain.question import Question, Reply
from shared.domain.verdict import Verdict
from shared.secrets.masking import Masker

Cancelled = Callable[[], bool]
"""Answers True once the work at hand must stop."""


NO_VARIABLES: Mapping[str, str] = MappingProxyType({})
"""Nothing beside what a login has."""


@dataclass(frozen=True, slots=True)
class PassRecord:
    """Under which name a host keeps the record of a pass, and what the driver of it may assume.

    `name` is the same for whoever carries out the pass; `fence` grows from one driver to the next.
    `since` is how many seconds ago the pass was first asked for, `resumed` whether somebody may
    have driven it before. `valid_for` answers how many seconds longer this driver may start
    commands.
    """

    name: str
    fence: int
    resumed: bool
    since: float
    valid_for: Callable[[], float]
    given_up: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Recalled:
    """A command that the host has a record of; `label` is what was told when it was started."""

    command: str
    label: str


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A call of `Shell.run` that will come if the one before it ends as it is foreseen to.

    `ends_well` foresees exit code 0; otherwise the command is foreseen to say no.
    """

    command: str
    timeout: float
    ends_well: bool = True
    key: str | None = None
    label: str = ""
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)


class Shell(Protocol):
    """An open connection to a host on which commands run one after another or side by side."""

    def run(
        self,
        command: str,
        *,
        timeout: float,
        on_output: OnOutput | None = None,
        cancelled: Cancelled | None = None,
        key: str | None = None,
        label: str = "",
        variables: Mapping[str, str] = NO_VARIABLES,
    ) -> CommandResult:
        """Run a command with /bin/sh, stdin closed, nothing able to prompt.

        `variables` are added to its environment; nothing else on the host ever holds them.

        After `timeout` seconds, or once `cancelled` answers True, everything that the command
        started on the host is ended (TERM, then KILL). With a `key` the command runs effectively
        once in its pass, whoever asks and however often: it outlives the caller, and a later call
        gives the result of the first; `label` (one line) is kept with it. Raises Transient when
        the host cannot be reached or the pass has passed to another driver, Misconfigured when the
        host refuses us, Rejected for a command that no host can take (too long, a NUL byte).
        """
        ...

    def foresee(self, calls: Generator[Foreseen]) -> None:
        """Say which calls of `run` come next, so that the host need not wait for each of them.

        The shell takes them as it needs them, and may have each started as soon as the one before
        it has ended as foreseen. At the first that does not, and when it has no use for them, it
        closes the generator.
        """
        ...

    def withdraw(self) -> None:
        """Forget what was foreseen: of that nothing more is started.

        What has been started under a key is `recalled` from now on. Raises what `run` raises.
        """
        ...

    def recalled(self, key: str) -> Recalled | None:
        """What an earlier driver of this pass started under that key; see `withdraw` as well."""
        ...

    def erase(self) -> None:
        """Have no output of the pass's commands lie on the host any more; `close` comes first.

        Once it is recorded elsewhere: no later driver can have it from there. Raises what `run`
        raises.
        """
        ...

    def close(self) -> None:
        """Give the connection back."""
        ...


class Connections(Protocol):
    """Opens shells, keeping warm what can be kept warm."""

    def shell(
        self, host: Host, record: PassRecord | None = None, masker: Masker | None = None
    ) -> Shell:
        """A shell on the host, for a pass or for looks that leave no record.

        What the masker hides is in nothing that it tells of a command's output.
        Raises Transient (unreachable) or Misconfigured (key, host key).
        """
        ...

    def close(self) -> None:
        """Close every connection."""
        ...


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a planner is told about a task. `targets` describes each target in a line or more.

    `facts` is what the targets say of themselves, `rules` what the guard lets run on them,
    `replies` what the person who wants it has answered since.
    """

    prompt: str
    targets: tuple[str, ...]
    policy: Policy
    facts: str = ""
    rules: str = ""
    replies: tuple[Reply, ...] = ()


@dataclass(frozen=True, slots=True)
class DetailRequest:
    """What the subtask planner is told about a step; `plan` gives it the steps around.

    `facts` and `rules` as in `PlanRequest`; `past_fixes` tells what helped before, each in words.
    """

    prompt: str
    targets: tuple[str, ...]
    policy: Policy
    plan: Plan
    step: Step
    facts: str = ""
    rules: str = ""
    past_fixes: tuple[str, ...] = ()
    replies: tuple[Reply, ...] = ()


@dataclass(frozen=True, slots=True)
class ReviseRequest:
    """What the author of a step is told when it must be revised; `note` is the operator's.

    `earlier` are all lists that have failed, the present one last: none of them is wanted again
    (`workers.repetition`). `evidence` is the text of the bundle, where it was kept; `target`
    says how the host is reached, `rules` and `past_fixes` are as in `DetailRequest`.
    """

    bundle: Bundle
    policy: Policy
    step: Step
    subtasks: tuple[Subtask, ...]
    note: str = ""
    earlier: tuple[Revision, ...] = ()
    evidence: str = ""
    target: str = ""
    rules: str = ""
    past_fixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RevisionDraft:
    """A planner's answer to a bundle.

    `rollback` names subtasks of earlier lists, by key, that are to be undone first if they ran.
    """

    subtasks: tuple[Subtask, ...]
    reason: str
    rollback: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplanRequest:
    """What the planner of a task is told about a step that cannot be done as planned.

    `plan` is the plan of the run and `phases` say where its steps stand, by number; `reason` is
    what the author of the step says, and the operator's note. `evidence` is as in `ReviseRequest`,
    `rules` as in `DetailRequest`.
    """

    prompt: str
    targets: tuple[str, ...]
    policy: Policy
    plan: Plan
    phases: Mapping[int, str]
    step: Step
    bundle: Bundle
    reason: str
    evidence: str = ""
    rules: str = ""


class NotAsPlanned(Rejected):
    """A planner says of what it was asked that it cannot be done as it was planned."""


@dataclass(frozen=True, slots=True)
class RetryAdvice:
    """Whether a failed step is worth another try as it is, after how many seconds, and why."""

    retry: bool
    delay: float
    reason: str


class PlannerBackend(Protocol):
    """Who answers for the planning roles: a model or a library of known jobs.

    Every method raises Transient (try later), Rejected (the answer cannot be used, or there is
    none) or Misconfigured (no key, no library). `uses_facts` says whether it has any use for what
    the targets say of themselves.
    """

    @property
    def uses_facts(self) -> bool: ...  # noqa: D102 - told above

    def refine(self, request: PlanRequest) -> str | Question:
        """The improved prompt (S0.2), or what has to be asked before (S3.57)."""
        ...

    def plan(self, request: PlanRequest) -> Plan:
        """The main steps (S0.26); a step may come with its subtasks, then it needs no detailing."""
        ...

    def detail(self, request: DetailRequest) -> tuple[Subtask, ...]:
        """The subtasks of a step (S0.28)."""
        ...

    def revise(self, request: ReviseRequest) -> RevisionDraft:
        """New subtasks for a step, from its evidence (S0.54–S0.57).

        Raises NotAsPlanned when nothing that the step could be made of will do.
        """
        ...

    def advise(self, request: ReviseRequest) -> RetryAdvice:
        """Whether another try of the same subtasks is worth it, from the evidence (S1.35)."""
        ...

    def replan(self, request: ReplanRequest) -> Plan:
        """What takes the place of a step and of all that have not begun, numbered from 1.

        A step may come with its subtasks; one that does not is detailed next.
        """
        ...


@dataclass(frozen=True, slots=True)
class Undo:
    """A subtask of an earlier revision that ran and is to be undone; its command is the rollback.

    It has no check, no preconditions and no needs.
    """

    revision: int
    subtask: Subtask


@dataclass(frozen=True, slots=True)
class PassOrder:
    """One pass to carry out: a step in one run under one revision.

    `undo` is what is undone before anything else, in that order.

    `earlier` are the attempts already recorded of this step in this run, oldest first: those of
    this revision count (and those of this pass are not repeated), those of other revisions only
    give the next attempt its number.
    """

    run_id: int
    task_ref: str
    host: Host
    step: Step
    subtasks: tuple[Subtask, ...]
    revision: int
    pass_no: int
    policy: Policy
    earlier: tuple[Attempt, ...] = ()
    undo: tuple[Undo, ...] = ()


@dataclass(frozen=True, slots=True)
class Unapproved:
    """A text of a subtask that waits for a person's approval, and the verdict on it."""

    subtask: int
    part: Part
    text: str
    verdict: Verdict


class Approvals(Protocol):
    """What a person has approved for the step at hand: a text of a subtask, byte for byte."""

    def holds(self, subtask: int, text: str) -> bool:
        """Whether there is an approval that is not used up."""
        ...

    def spend(self, subtask: int, text: str, key: str) -> bool:
        """Use an approval for what starts under that key; False when there is none.

        What serves once serves that key again, so that a pass which is driven on has it still, and
        no other. It is written down for good before this returns. Raises Transient while that
        cannot be done.
        """
        ...


class PassLog(Protocol):
    """Where a pass writes what happens; it returns at once and writes in groups."""

    def started(self, attempt: Attempt) -> None:
        """An attempt begins; its outcome and end are not known yet and are ignored."""
        ...

    def output(self, key: str, stream: str, chunk: bytes) -> None:
        """Output of the attempt with that key arrived."""
        ...

    def finished(self, attempt: Attempt) -> None:
        """An attempt ended."""
        ...

    def cancelled(self) -> bool:
        """True once the pass must stop: nothing further of it is started."""
        ...

    def withdrawn(self) -> bool:
        """True once a person has cancelled the pass: what runs for it is ended."""
        ...

    def unwanted(self, key: str) -> bool:
        """True once a person wants that one attempt ended, and the pass to go on."""
        ...


@dataclass(frozen=True, slots=True)
class PassResult:
    """How a pass ended; `errors` counts its own, and those of a pass that it continues.

    `unapproved` or `question` is what it waits for, where it ended for that; `error_class` is the
    kind of the last error that it met.
    """

    ending: Ending
    errors: int
    reason: str
    unapproved: tuple[Unapproved, ...] = ()
    error_class: ErrorClass = ErrorClass.OTHER
    question: Question | None = None
