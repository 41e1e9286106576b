"""The states of a task, of its runs and of their steps."""

from enum import StrEnum


class TaskPhase(StrEnum):
    """Where a task stands."""

    SUBMITTED = "submitted"
    REFINING = "refining"
    PLANNING = "planning"
    DETAILING = "detailing"
    RUNNING = "running"
    WAITING = "waiting"
    DONE = "done"
    ERROR = "error"
    CANCELLED = "cancelled"


class RunPhase(StrEnum):
    """Where one task stands on one target."""

    NOT_STARTED = "not_started"
    RUNNING = "running"
    WAITING = "waiting"
    DONE = "done"
    ERROR = "error"
    CANCELLED = "cancelled"


class StepPhase(StrEnum):
    """Where a step stands in a run."""

    NOT_STARTED = "not_started"
    DETAILING = "detailing"  # its turn has come, and it has no subtasks yet
    READY = "ready"
    RUNNING = "running"
    REPLANNING = "replanning"
    WAITING = "waiting"
    BLOCKED = "blocked"
    ACCEPTING = "accepting"  # it has published a delivery, which is neither accepted nor rejected
    ACCEPTED = "accepted"  # its delivery is on the head of the session, and not yet published
    DONE = "done"
    ERROR = "error"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    REPLACED = "replaced"  # by steps of a changed plan


ENDED_TASK = frozenset({TaskPhase.DONE, TaskPhase.ERROR, TaskPhase.CANCELLED})
ENDED_RUN = frozenset({RunPhase.DONE, RunPhase.ERROR, RunPhase.CANCELLED})
ENDED_STEP = frozenset(
    {
        StepPhase.DONE,
        StepPhase.ERROR,
        StepPhase.SKIPPED,
        StepPhase.CANCELLED,
        StepPhase.REPLACED,
    }
)

COARSE: dict[StepPhase, str] = {
    StepPhase.NOT_STARTED: "NotStarted",
    StepPhase.DETAILING: "NotStarted",
    StepPhase.READY: "NotStarted",
    StepPhase.RUNNING: "Running",
    StepPhase.REPLANNING: "Running",
    StepPhase.WAITING: "Error",
    StepPhase.BLOCKED: "Error",
    StepPhase.ACCEPTING: "Running",
    StepPhase.ACCEPTED: "Running",
    StepPhase.DONE: "Done",
    StepPhase.ERROR: "Error",
    StepPhase.SKIPPED: "Error",
    StepPhase.CANCELLED: "Error",
    StepPhase.REPLACED: "Done",  # nothing more of it follows, and nothing of it is missing
}
"""The four states of S1.22, as the API shows them."""
