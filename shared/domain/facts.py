"""Facts: what happened, in the past tense.

The coordinator learns everything through facts. A fact about a run names it, one about a task names
none. Facts are sent at least once: duplicates and late ones are known by their numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from shared.domain.approval import ApprovalRequest
from shared.domain.author import Author
from shared.domain.budget import Ending
from shared.domain.config import Policy, Value
from shared.domain.delivery import Published
from shared.domain.delivery_facts import (
    CheckpointFinished,
    CheckpointRequested,
    DeliveryAllowed,
    DeliveryJudged,
    DeliveryRejected,
    DeliveryReviewed,
    OfDelivery,
    RunPaused,
    SessionClosed,
)
from shared.domain.error_class import ErrorClass
from shared.domain.jobs import JobKind, LossSign
from shared.domain.look import Look
from shared.domain.next_step import Advice
from shared.domain.person_facts import (
    ApprovalDenied,
    CommandsApproved,
    OfPass,
    OutcomeTold,
    RecordsSettled,
    SpendingAllowed,
)
from shared.domain.plan import DroppedCheck, Plan, Step, Subtask
from shared.domain.question import Question
from shared.domain.records import HostRecord
from shared.domain.spending import Unpaid
from shared.domain.task_facts import (
    HostKeyChanged,
    PlanApproved,
    PlanDrafted,
    PromptRefined,
    QuestionAsked,
    RunChanged,
    StepDetailed,
    TaskSubmitted,
)

__all__ = [
    "ApprovalDenied",
    "CheckpointFinished",
    "CheckpointRequested",
    "CommandsApproved",
    "DeliveryAllowed",
    "DeliveryJudged",
    "DeliveryRejected",
    "DeliveryReviewed",
    "HostKeyChanged",
    "OfDelivery",
    "OfPass",
    "OutcomeTold",
    "PlanApproved",
    "PlanDrafted",
    "PromptRefined",
    "QuestionAsked",
    "RecordsSettled",
    "RunChanged",
    "RunPaused",
    "SessionClosed",
    "SpendingAllowed",
    "StepDetailed",
    "TaskSubmitted",
]

# --- about a run ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The plan is complete: its steps may be carried out on the run's target."""

    policy: Policy
    plan: Plan


@dataclass(frozen=True, slots=True)
class PassStarted(OfPass):
    """A worker claimed the execution job of a step."""


@dataclass(frozen=True, slots=True)
class PassFinished(OfPass):
    """A pass ended; `errors` counts its errors and those of the pass that it continues.

    `asked` holds the texts that wait for an approval, `question` what a person is asked, if it
    ended for that; `error_class` is the kind of its last error. `records` holds what the target has
    recorded and the database does not know, `unpaid` what an agent could not pay. `published` is
    what it has to deliver; `repeated`: it was refused, as the same was rejected before.
    """

    ending: Ending
    errors: int
    reason: str = ""
    asked: tuple[ApprovalRequest, ...] = ()
    error_class: ErrorClass = ErrorClass.OTHER
    question: Question | None = None
    records: tuple[HostRecord, ...] = ()
    unpaid: Unpaid | None = None
    published: Published | None = None
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class BundleReady(OfPass):
    """The evidence of a step has been gathered."""

    bundle_id: int


@dataclass(frozen=True, slots=True)
class BundleSent(OfPass):
    """A person sent a held bundle to the step's author, with a `note` (S0.96)."""

    note: str = ""


@dataclass(frozen=True, slots=True)
class StepRevised:
    """The author of a step, or a person, gave its next list of subtasks.

    `rollback` names, by key, the subtasks of earlier lists to undo first if they ran. `fix` is the
    number of the fix that it comes from, if the fix memory answered for the author.
    `dropped_checks` are the acceptance checks that it gives up, each with the author's reason.
    """

    step: int
    revision: int
    author: Author
    subtasks: tuple[Subtask, ...]
    reason: str = ""
    rollback: tuple[str, ...] = ()
    fix: int | None = None
    dropped_checks: tuple[DroppedCheck, ...] = ()


@dataclass(frozen=True, slots=True)
class StepHandedUp(OfPass):
    """The author of a step says that it cannot be done as planned; `planner` planned the task."""

    planner: Author
    reason: str


@dataclass(frozen=True, slots=True)
class PlanRevised(OfPass):
    """The planner changed the rest of a plan, from a step that was handed up to it.

    `steps` are numbered from 1. They replace that step and all that have not begun, as soon as none
    of them is bare (without subtasks); `known` is the highest step number that the planner knew.
    """

    known: int
    steps: tuple[Step, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class StepsReplaced:
    """A person put other steps in the place of those numbered `replaces`; nothing of them runs.

    `steps` are numbered from 1, and ask nothing; `known` is the highest step number that the person
    knew, from which needs of 0 and less count back (`renumber`).
    """

    known: int
    replaces: tuple[int, ...]
    steps: tuple[Step, ...]
    replaced_by: str


@dataclass(frozen=True, slots=True)
class RevisionRequested:
    """An operator wants a step revised now (S0.85); `note` goes to the planner."""

    step: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class StepAbandoned:
    """A person gave up a step: it ends in error, and `on_failure` decides about what needs it."""

    step: int


@dataclass(frozen=True, slots=True)
class RetryAdvised(OfPass):
    """A planner has looked at the evidence and says whether and when to try again (S1.35)."""

    retry: bool
    delay: float = 0.0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AttemptCancelRequested(OfPass):
    """A person wants the running attempt with that `key` ended; its step goes on.

    It is attempt `number` of the subtask of that number.
    """

    subtask: int
    number: int
    key: str
    requested_by: str


@dataclass(frozen=True, slots=True)
class CommandLeftRunning(OfPass):
    """A step was cancelled, an attempt of that pass still runs, and no worker is at it."""


@dataclass(frozen=True, slots=True)
class CleanupFinished(OfPass):
    """A worker has ended what a cancelled step left running, or found that nothing runs any more.

    `postponed` says how many tries in a row had failed before.
    """

    postponed: int = 0


# --- about either ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JobFailed:
    """A job could not be done. `family` is the error's (`shared.domain.errors`).

    `postponed` counts how often in a row the same work was postponed before.
    """

    kind: JobKind
    step: int | None
    revision: int
    pass_no: int
    family: str
    stage: str
    reason: str
    next_step: Advice | None = None
    retry_after: float | None = None
    postponed: int = 0


@dataclass(frozen=True, slots=True)
class WorkerLost:
    """A worker vanished with a job in hand; `worker` is its name, `sign` how that shows."""

    kind: JobKind
    step: int | None
    revision: int
    pass_no: int
    worker: str
    sign: LossSign


@dataclass(frozen=True, slots=True)
class QuestionAnswered:
    """A person answered a question: a step's or, without a step, the taskmaster's.

    In a run the numbers are those of the pass that asked; before there are runs they are 0.
    """

    step: int | None
    question: str
    answer: str
    intervention: int
    given_by: str
    revision: int = 0
    pass_no: int = 0


@dataclass(frozen=True, slots=True)
class LooksRequested:
    """A planner wants to see something before it answers; the planning job `kind` has ended.

    `round_no` counts such requests of one planning from 1. In a run the numbers are those of the
    pass whose evidence it answers; before there are runs they are 0, and `step` is None while the
    task as a whole is planned.
    """

    kind: JobKind
    step: int | None
    revision: int
    pass_no: int
    round_no: int
    looks: tuple[Look, ...]


@dataclass(frozen=True, slots=True)
class LooksTaken:
    """A worker has taken the looks of that round; their outputs are in the attempts."""

    kind: JobKind
    step: int | None
    revision: int
    pass_no: int
    round_no: int


@dataclass(frozen=True, slots=True)
class PolicyChanged:
    """An operator changed limits of a task that is under way, by name (S1.24)."""

    changes: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """An operator cancelled it."""


@dataclass(frozen=True, slots=True)
class ResumeRequested:
    """The cause was removed: counters are cleared, what failed runs again; or one `step` alone."""

    step: int | None = None


TaskFact = (
    TaskSubmitted
    | PromptRefined
    | QuestionAsked
    | PlanDrafted
    | StepDetailed
    | PlanApproved
    | RunChanged
    | HostKeyChanged
    | QuestionAnswered
    | LooksRequested
    | LooksTaken
    | PolicyChanged
    | JobFailed
    | WorkerLost
    | CancelRequested
    | ResumeRequested
)
StepFact = (
    StepDetailed
    | PassStarted
    | PassFinished
    | BundleReady
    | BundleSent
    | StepRevised
    | StepHandedUp
    | RevisionRequested
    | OutcomeTold
    | RecordsSettled
    | SpendingAllowed
    | CommandsApproved
    | ApprovalDenied
    | RetryAdvised
    | AttemptCancelRequested
    | CommandLeftRunning
    | CleanupFinished
    | QuestionAnswered
    | LooksRequested
    | LooksTaken
    | DeliveryJudged
    | DeliveryReviewed
    | DeliveryAllowed
    | DeliveryRejected
    | JobFailed
    | WorkerLost
)
"""The facts about one step of a run; `step` is its number."""

RunFact = (
    RunStarted
    | PlanRevised
    | StepsReplaced
    | StepAbandoned
    | CheckpointRequested
    | CheckpointFinished
    | SessionClosed
    | RunPaused
    | PolicyChanged
    | CancelRequested
    | ResumeRequested
    | StepFact
)
Fact = TaskFact | RunFact

FACTS: dict[str, type] = {kind.__name__: kind for kind in (*get_args(TaskFact), *get_args(RunFact))}
"""Every kind of fact under its name."""
