"""What workers are asked to do: a job is a row; its message carries only the row's id."""

from dataclasses import dataclass
from enum import StrEnum

from shared.domain.author import PlanningRole


class JobKind(StrEnum):
    """The kinds of work; each goes to one queue."""

    REFINE = "refine"  # improve the prompt
    PLAN = "plan"  # prompt -> steps
    DETAIL = "detail"  # step -> subtasks
    REVISE = "revise"  # bundle -> subtasks
    REPLAN = "replan"  # bundle -> the remaining steps
    EXECUTE = "execute"  # one pass
    GATHER = "gather"  # evidence -> bundle
    ADVISE = "advise"  # bundle -> whether another try is worth it
    LOOK = "look"  # what a planner wants to see before it answers
    CLEAN_UP = "clean_up"  # end what a cancelled step left running, and start nothing
    ACCEPT = "accept"  # merge a delivery with its line, and check it there
    REVIEW = "review"  # a reviewer looks at a delivery
    CHECKPOINT = "checkpoint"  # publish what was accepted, and verify it


SPARED = frozenset({JobKind.CLEAN_UP, JobKind.CHECKPOINT})
"""What a cancellation does not withdraw: it ends what was begun, on a host or on a remote."""


class LossSign(StrEnum):
    """How it shows that a worker was lost with a job in hand."""

    PRESENCE = "presence"  # no session with the database holds its presence lock any more
    LEASE = "lease"  # it has not renewed its lease


class QueueName(StrEnum):
    """The queues, one worker kind each (D.5)."""

    TASKMASTER = "taskmaster"
    PLANNING = "planning"
    SUBTASK_PLANNING = "subtask_planning"
    EXECUTION = "execution"
    ESCALATION = "escalation"


ROLES = {
    "taskmaster": QueueName.TASKMASTER,
    "planner": QueueName.PLANNING,
    "subtask_planner": QueueName.SUBTASK_PLANNING,
    "executor": QueueName.EXECUTION,
    "escalation": QueueName.ESCALATION,
}
"""The worker kinds, and the queue that each consumes (D.5)."""

ASKING = frozenset({QueueName.TASKMASTER, QueueName.PLANNING, QueueName.SUBTASK_PLANNING})
"""The queues whose jobs ask models: they wait much longer than they compute."""

_QUEUES = {
    JobKind.REFINE: QueueName.TASKMASTER,
    JobKind.PLAN: QueueName.PLANNING,
    JobKind.REPLAN: QueueName.PLANNING,
    JobKind.DETAIL: QueueName.SUBTASK_PLANNING,
    JobKind.EXECUTE: QueueName.EXECUTION,
    JobKind.GATHER: QueueName.ESCALATION,
    JobKind.ADVISE: QueueName.SUBTASK_PLANNING,
    JobKind.LOOK: QueueName.EXECUTION,
    JobKind.CLEAN_UP: QueueName.EXECUTION,
    JobKind.ACCEPT: QueueName.EXECUTION,
    JobKind.REVIEW: QueueName.EXECUTION,
    JobKind.CHECKPOINT: QueueName.EXECUTION,
}


def queue_of(kind: JobKind, role: PlanningRole = PlanningRole.SUBTASK_PLANNER) -> QueueName:
    """The queue of a job; a revision goes to the role that planned the step (S0.47)."""
    if kind is JobKind.REVISE:
        return QueueName.PLANNING if role is PlanningRole.PLANNER else QueueName.SUBTASK_PLANNING
    return _QUEUES[kind]


@dataclass(frozen=True, slots=True, order=True)
class Claim:
    """One worker's claim of a job, as it is named outside the database.

    Numbers come from sequences, and a database that lost its last commits in a failover gives the
    same ones out again. `token` is random, so a claim is never mistaken for another.
    """

    job: int
    fence: int
    token: str


@dataclass(frozen=True, slots=True)
class Job:
    """A claimed job: what to do, and the claim that each of its writes must carry.

    `postponed` counts how often in a row the same work was postponed as transient; `note` is an
    operator's note for the planner; `answer` is a person's answer to the question of the step;
    `cancel_attempt` is the key of the attempt of this pass that an operator cancelled; `looks` are
    the rounds of looks that its planning has taken, or that it is to take; `age` is the seconds
    since the job was created; `target` is where its run works, if it is of one.
    """

    id: int
    kind: JobKind
    task_id: int
    run_id: int | None
    step: int | None
    revision: int
    pass_no: int
    fence: int
    claims: int
    postponed: int = 0
    note: str = ""
    answer: str | None = None
    cancel_attempt: str | None = None
    looks: int = 0
    age: float = 0.0
    token: str = ""
    target: str | None = None

    @property
    def claim(self) -> Claim:
        """What this worker calls its claim of the job."""
        return Claim(self.id, self.fence, self.token)

    @property
    def resumed(self) -> bool:
        """Whether somebody may have begun the same work before."""
        return self.fence > 1 or self.postponed > 0 or self.kind is JobKind.CLEAN_UP
