"""Facts about a task as a whole; see `shared.domain.facts`."""

from dataclasses import dataclass

from shared.domain.approval import Approval
from shared.domain.author import Author
from shared.domain.config import Policy
from shared.domain.plan import Plan, Subtask
from shared.domain.question import Question
from shared.domain.task import RunPhase


@dataclass(frozen=True, slots=True)
class TaskSubmitted:
    """A person submitted a task; `plan` is set when it was planned by hand."""

    policy: Policy
    run_ids: tuple[int, ...]
    plan: Plan | None = None


@dataclass(frozen=True, slots=True)
class PromptRefined:
    """The taskmaster improved the prompt (both versions are kept, S0.25)."""

    prompt: str


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """The prompt is ambiguous, and the taskmaster asks instead of guessing (S3.57)."""

    question: Question


@dataclass(frozen=True, slots=True)
class PlanDrafted:
    """A planner, or a person, gave the main steps; those without subtasks are detailed next."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class StepDetailed:
    """The subtask planner gave revision 0 of a step: of the plan or, in its turn, of a run."""

    step: int
    subtasks: tuple[Subtask, ...]
    author: Author


@dataclass(frozen=True, slots=True)
class PlanApproved:
    """A person approved the plan with that digest: each of its commands on every target."""

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
    """A host showed a worker another key than the enrolled one; `reason` says which."""

    host: str
    reason: str
