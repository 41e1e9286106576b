"""Decisions: what to do, in the imperative. The store turns each into rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from orchestrator.core.intervention_kind import InterventionKind
from shared.domain.approval import Approval, ApprovalRequest
from shared.domain.attempt import Answer
from shared.domain.author import Author, PlanningRole
from shared.domain.config import Policy, Value
from shared.domain.delivery import DeliveryStatus, Rejection
from shared.domain.jobs import JobKind
from shared.domain.look import Look
from shared.domain.next_step import Advice
from shared.domain.plan import Plan, Step, Subtask
from shared.domain.records import HostRecord, RecordsAnswer
from shared.domain.spending import Unpaid
from shared.domain.task import RunPhase


@dataclass(frozen=True, slots=True)
class Enqueue:
    """Ask a worker; `delay` in seconds. At most one job of a kind is open per step or task.

    `driven_on` says that an earlier job was for the same pass.
    `postponed` says how often in a row the same work was put off before.
    `answer` is what a person answered to the question of the step.
    `looks` are the rounds of looks that the same planning has taken, or that the job is to take.
    """

    kind: JobKind
    step: int | None = None
    revision: int = 0
    pass_no: int = 0
    role: PlanningRole = PlanningRole.SUBTASK_PLANNER
    delay: float = 0.0
    postponed: int = 0
    note: str = ""
    answer: str | None = None
    driven_on: bool = False
    looks: int = 0


@dataclass(frozen=True, slots=True)
class KeepLooks:
    """Write down what a planning of that kind wants to see in that round."""

    kind: JobKind
    step: int | None
    revision: int
    pass_no: int
    round_no: int
    looks: tuple[Look, ...]


@dataclass(frozen=True, slots=True)
class CancelJobs:
    """Withdraw the open jobs of a step, or of all steps; a worker that runs one stops.

    Clean-ups and checkpoints stay: what is under way on a remote comes to its end.
    """

    step: int | None = None


@dataclass(frozen=True, slots=True)
class CancelAttempt:
    """Have the worker of the attempt with that key end it, unless it has ended already."""

    key: str


@dataclass(frozen=True, slots=True)
class OpenIntervention:
    """Wait for a human; `asked` are the texts to approve, if any.

    `options` are the answers to choose from, where it is a question with such. `records` are what
    a host has recorded and the database does not know, `unpaid` what an agent could not pay.
    """

    kind: InterventionKind
    step: int | None
    reason: str
    stage: str
    next_step: Advice | None = None
    asked: tuple[ApprovalRequest, ...] = ()
    options: tuple[str, ...] = ()
    records: tuple[HostRecord, ...] = ()
    unpaid: Unpaid | None = None


@dataclass(frozen=True, slots=True)
class CloseInterventions:
    """What was waited for has come, for a step or for all but those of the steps `sparing`.

    With `intervention`, only the one of that number is closed; with `kind`, only those of it.
    """

    step: int | None = None
    sparing: tuple[int, ...] = ()
    intervention: int | None = None
    kind: InterventionKind | None = None


@dataclass(frozen=True, slots=True)
class SettleDelivery:
    """Write down what becomes of a delivery of a step.

    None stands for the one that was accepted, where it is checkpointed now, and for what its pass
    may have published, where that is withdrawn.
    `commit` is the one with which it is on the head, `settled_by` the person or reviewer.
    """

    step: int
    status: DeliveryStatus
    delivery: str | None = None
    rejection: Rejection | None = None
    reason: str = ""
    commit: str | None = None
    settled_by: str | None = None


@dataclass(frozen=True, slots=True)
class EndCheckpoint:
    """Write down that the checkpoint of that number has ended and is not complete.

    Nothing is written if its worker has ended it.
    """

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class SettleAttempt:
    """Write a person's answer to the attempt at which that pass ended `unknown`."""

    step: int
    revision: int
    pass_no: int
    answer: Answer


@dataclass(frozen=True, slots=True)
class FreeJob:
    """End the lease of a lost worker's job; nothing happens if that worker is back."""

    kind: JobKind
    step: int | None


@dataclass(frozen=True, slots=True)
class SettleClaims:
    """Write what a person says about the records of these claims, with that pass at hand."""

    step: int
    pass_no: int
    claims: tuple[str, ...]
    answer: RecordsAnswer


@dataclass(frozen=True, slots=True)
class SetBudget:
    """Let the agents of that subtask spend so much in that revision, in dollars; 0: no budget."""

    step: int
    revision: int
    subtask: int
    dollars: Decimal


@dataclass(frozen=True, slots=True)
class CloseAttempt:
    """Call unknown how the attempt of that pass ended: no worker could end it."""

    step: int
    revision: int
    pass_no: int


@dataclass(frozen=True, slots=True)
class Grant:
    """Write down what a person has approved; nothing else makes an approval."""

    approvals: tuple[Approval, ...]


@dataclass(frozen=True, slots=True)
class DisableHost:
    """Let nothing run on a host until a person has enrolled it again."""

    host: str
    reason: str


@dataclass(frozen=True, slots=True)
class AddSteps:
    """Add steps to a run beyond the plan of its task."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class FillStep:
    """Give a bare step of a run its subtasks."""

    step: int
    subtasks: tuple[Subtask, ...]
    author: Author


@dataclass(frozen=True, slots=True)
class Learn:
    """Remember whether a step was done under a revision or failed again."""

    step: int
    revision: int
    worked: bool


@dataclass(frozen=True, slots=True)
class StartRuns:
    """The plan is complete: begin on every target."""

    policy: Policy
    plan: Plan


@dataclass(frozen=True, slots=True)
class CancelRuns:
    """Pass a cancellation on to every run that has not ended."""


@dataclass(frozen=True, slots=True)
class ResumeRuns:
    """Pass a resumption on to every run."""


@dataclass(frozen=True, slots=True)
class TellPolicy:
    """Pass changed limits on to every run."""

    changes: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class ReportRun:
    """Tell the task that its run entered another phase."""

    phase: RunPhase


Decision = (
    Enqueue
    | KeepLooks
    | CancelJobs
    | CancelAttempt
    | OpenIntervention
    | CloseInterventions
    | SettleDelivery
    | EndCheckpoint
    | SettleAttempt
    | SettleClaims
    | SetBudget
    | CloseAttempt
    | FreeJob
    | Grant
    | AddSteps
    | FillStep
    | DisableHost
    | Learn
    | StartRuns
    | CancelRuns
    | ResumeRuns
    | TellPolicy
    | ReportRun
)
"""The store writes rows for most; the coordinator passes the last five on as facts."""
