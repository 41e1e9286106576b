"""What the planning roles ask of whoever plans: a model, or a library of known jobs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from shared.domain.bundle import Bundle
from shared.domain.config import Policy
from shared.domain.errors import Rejected
from shared.domain.plan import Plan, Revision, Step, Subtask
from shared.domain.question import Question, Reply


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
