"""Facts: what happened, in the past tense. Everything the coordinator knows came in as one.

A fact about a task names no run; a fact about a run names it. Facts are sent at least once: a
duplicate or a straggler is recognised by its numbers (revision, pass) and changes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from shared.domain.approval import Approval, ApprovalRequest
from shared.domain.attempt import Answer
from shared.domain.budget import Ending
from shared.domain.config import Policy, Value
from shared.domain.error_class import ErrorClass
from shared.domain.jobs import JobKind
from shared.domain.next_step import Advice
from shared.domain.plan import Author, Plan, Step, Subtask
from shared.domain.question import Question
from shared.domain.task import RunPhase

# --- about a task ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TaskSubmitted:
    """A person asked for something; `plan` is given when it was planned by hand."""

    policy: Policy
    run_ids: tuple[int, ...]
    plan: Plan | None = None


@dataclass(frozen=True, slots=True)
class PromptRefined:
    """The taskmaster improved the prompt (both versions are kept, S0.25)."""

    prompt: str


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """The taskmaster cannot tell what is meant, and asks instead of guessing (S3.57)."""

    question: Question


@dataclass(frozen=True, slots=True)
class PlanDrafted:
    """A planner, or a person, gave the main steps; those without subtasks are to be detailed."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class StepDetailed:
    """The subtask planner gave revision 0 of a step."""

    step: int
    subtasks: tuple[Subtask, ...]
    author: Author


@dataclass(frozen=True, slots=True)
class PlanApproved:
    """A person approved the plan with that digest, every command of it on every target."""

    plan_digest: str
    given_by: str
    approvals: tuple[Approval, ...]


@dataclass(frozen=True, slots=True)
class RunChanged:
    """A run of the task entered another phase."""

    run_id: int
    phase: RunPhase


@dataclass(frozen=True, slots=True)
class HostKeyChanged:
    """A worker met a host that shows another key than the enrolled one; `reason` says which."""

    host: str
    reason: str


# --- about a run ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The plan is complete: its steps may be carried out on the run's target."""

    policy: Policy
    plan: Plan


@dataclass(frozen=True, slots=True)
class PassStarted:
    """A worker claimed the execution job of a step."""

    step: int
    revision: int
    pass_no: int


@dataclass(frozen=True, slots=True)
class PassFinished:
    """A pass ended; `errors` are those it counted, and those of a pass that it continues.

    `asked` are the texts that wait for a person's approval, where it ended for that; `question` is
    what it has to know from a person, where it ended for that; `error_class` is the kind of its
    last error.
    """

    step: int
    revision: int
    pass_no: int
    ending: Ending
    errors: int
    reason: str = ""
    asked: tuple[ApprovalRequest, ...] = ()
    error_class: ErrorClass = ErrorClass.OTHER
    question: Question | None = None


@dataclass(frozen=True, slots=True)
class BundleReady:
    """The evidence of a step has been gathered."""

    step: int
    revision: int
    pass_no: int
    bundle_id: int


@dataclass(frozen=True, slots=True)
class BundleSent:
    """A person sent the evidence that waited to the step's author, with a `note` for it (S0.96)."""

    step: int
    revision: int
    pass_no: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class StepRevised:
    """The author of a step, or a person, gave its next list of subtasks.

    `rollback` names the subtasks of earlier lists, by key, that are undone first if they ran. `fix`
    is the number of the fix that it comes from, where the memory answered for the author.
    """

    step: int
    revision: int
    author: Author
    subtasks: tuple[Subtask, ...]
    reason: str = ""
    rollback: tuple[str, ...] = ()
    fix: int | None = None


@dataclass(frozen=True, slots=True)
class StepHandedUp:
    """The author of a step says that it cannot be done as planned; `planner` planned the task."""

    step: int
    revision: int
    pass_no: int
    planner: Author
    reason: str


@dataclass(frozen=True, slots=True)
class PlanRevised:
    """The planner changed what remains of a plan, from a step that was handed up to it.

    `steps` are numbered from 1 and take the place of that step and of all that have not begun, as
    soon as none of them is bare (without subtasks);
    `known` is the greatest number of a step that the planner knew of.
    """

    step: int
    revision: int
    pass_no: int
    known: int
    steps: tuple[Step, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RevisionRequested:
    """An operator wants a step revised now (S0.85); `note` goes to the planner."""

    step: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class StepAbandoned:
    """A person gave a step up: it ends in error; what needs it goes by the step's `on_failure`."""

    step: int


@dataclass(frozen=True, slots=True)
class OutcomeTold:
    """A person says what became of the command at which a pass ended `unknown`."""

    step: int
    revision: int
    pass_no: int
    answer: Answer


@dataclass(frozen=True, slots=True)
class CommandsApproved:
    """A person approved what a pass had asked for, in the intervention of that number."""

    step: int
    revision: int
    pass_no: int
    intervention: int
    approvals: tuple[Approval, ...]


@dataclass(frozen=True, slots=True)
class ApprovalDenied:
    """A person does not want it to run; `note` goes to the planner."""

    step: int
    revision: int
    pass_no: int
    intervention: int
    denied_by: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class RetryAdvised:
    """A planner has looked at the evidence: whether another try is worth it, and when (S1.35)."""

    step: int
    revision: int
    pass_no: int
    retry: bool
    delay: float = 0.0
    reason: str = ""


# --- about either ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JobFailed:
    """A job could not be done. `family` is the error's (`shared.domain.errors`).

    `postponed` says how often in a row the same work had been put off before.
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
class QuestionAnswered:
    """A person answered the question of an intervention: a step's, or without one the taskmaster's.

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
class PolicyChanged:
    """An operator changed limits of a task that is under way, by name (S1.24)."""

    changes: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """An operator wants it to stop."""


@dataclass(frozen=True, slots=True)
class ResumeRequested:
    """An operator removed the cause: counters are cleared, what failed runs again (S1.12–S1.15)."""


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
    | PolicyChanged
    | JobFailed
    | CancelRequested
    | ResumeRequested
)
StepFact = (
    PassStarted
    | PassFinished
    | BundleReady
    | BundleSent
    | StepRevised
    | StepHandedUp
    | RevisionRequested
    | OutcomeTold
    | CommandsApproved
    | ApprovalDenied
    | RetryAdvised
    | QuestionAnswered
    | JobFailed
)
"""The facts from which something follows for one step of a run; its number stands in `step`."""

RunFact = (
    RunStarted
    | PlanRevised
    | StepAbandoned
    | PolicyChanged
    | CancelRequested
    | ResumeRequested
    | StepFact
)
Fact = TaskFact | RunFact

FACTS: dict[str, type] = {kind.__name__: kind for kind in (*get_args(TaskFact), *get_args(RunFact))}
"""Every kind of fact under its name."""
