"""What is true of a task and of a run: immutable values, never the history."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from shared.domain.author import Author
from shared.domain.config import Policy
from shared.domain.delivery import Acceptance, Checkpoint
from shared.domain.errors import Defect
from shared.domain.look import NOT_LOOKED, Looking
from shared.domain.plan import Draft, OnFailure, Plan, Recovery, Step, open_questions
from shared.domain.task import RunPhase, StepPhase, TaskPhase


class WaitsFor(StrEnum):
    """What a step that waits for a person waits for."""

    OUTCOME = "outcome"  # how a command ended
    RECORDS = "records"  # whether what the host has recorded belongs to the pass
    APPROVAL = "approval"  # of what it would run
    ANSWER = "answer"  # to a question of its own
    BUDGET = "budget"  # for the agents of a subtask
    SPENDING = "spending"  # more of it for the task or the day than its agents were allowed
    SENDING = "sending"  # its evidence is there and may be sent to its author as it is
    ACCEPTANCE = "acceptance"  # whether its delivery may be accepted
    DECISION = "decision"  # a revision, a resumption, or its end


@dataclass(frozen=True, slots=True)
class StepState:
    """A step in a run: where it stands, and the counters that the error budget reads.

    `errors` counts failed attempts of this revision, `failures` the failed passes in a row under
    `recovery: retry`, `postponed` how often in a row a job was put off as transient;
    `forced` and `note` say that an operator asked for a revision, and with which words (S0.85);
    `waits_for` says what a step that waits for a person waits for, and is None in every other
    phase; `answer` is what a person answered to its question, for its commands, and `note` tells
    it to its planner; `unfinished` that its pass came to no end: it is driven on, since its command
    may still run; `handed_up` that the planner of the task is asked to change what remains, and
    `draft` what it has answered, while that asks a person or bare steps of it are being detailed;
    `generation` counts the changes of the plan that led to it; `cleanups` is the number of the try
    to end what the step left running when it was cancelled, and 0 while no such try is under way;
    `looks` says how far its planning has looked; `bare` that it has no subtasks yet, and is
    detailed when its turn comes; `acceptance` how far its delivery has come, `rejections` how many
    of this revision were rejected, and `accepted_as` which number the accepted one has in its run.
    """

    ordinal: int
    author: Author
    title: str = ""
    depends_on: tuple[int, ...] = ()
    recovery: Recovery = Recovery.REPLAN
    on_failure: OnFailure = OnFailure.STOP
    phase: StepPhase = StepPhase.NOT_STARTED
    revision: int = 0
    pass_no: int = 0
    errors: int = 0
    failures: int = 0
    postponed: int = 0
    forced: bool = False
    note: str = ""
    answer: str | None = None
    waits_for: WaitsFor | None = None
    unfinished: bool = False
    handed_up: bool = False
    draft: Draft | None = None
    generation: int = 0
    cleanups: int = 0
    looks: Looking = NOT_LOOKED
    bare: bool = False
    acceptance: Acceptance | None = None
    rejections: int = 0
    accepted_as: int = 0
    reason: str = ""

    def __post_init__(self) -> None:
        """A step waits for something exactly while it waits; the row is held to the same.

        Nothing of it is on its way to the head while it does something else.
        """
        on_its_way = {StepPhase.ACCEPTING, StepPhase.WAITING}
        if self.acceptance is not None and self.phase not in on_its_way:
            raise Defect(f"step {self.ordinal} is {self.phase} with a delivery", stage="advance")
        if self.acceptance is None and self.phase is StepPhase.ACCEPTING:
            raise Defect(f"step {self.ordinal} is accepting without a delivery", stage="advance")
        if (self.waits_for is None) is (self.phase is StepPhase.WAITING):
            raise Defect(
                f"step {self.ordinal} is {self.phase} and waits for {self.waits_for}",
                stage="advance",
            )

    @classmethod
    def of(cls, step: Step) -> "StepState":
        """A step as it stands before anything has run."""
        return cls(
            ordinal=step.ordinal,
            author=step.author,
            title=step.title,
            depends_on=step.depends_on,
            recovery=step.recovery,
            on_failure=step.on_failure,
            bare=not step.subtasks,
        )


@dataclass(frozen=True, slots=True)
class RunState:
    """A run: its steps by number; its `id` spreads its waiting spans and decides nothing else.

    A session is a run that delivers: `head` is its newest commit, None where it began, with the
    first `accepted` deliveries that it accepted. While it is `held_open`, it does not end, for a
    person may add steps. While it is `paused`, no step begins.
    """

    id: int = 0
    phase: RunPhase = RunPhase.NOT_STARTED
    policy: Policy = field(default_factory=Policy)
    steps: Mapping[int, StepState] = field(default_factory=dict)
    head: str | None = None
    accepted: int = 0
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    held_open: bool = False
    paused: bool = False
    reason: str = ""

    def with_step(self, step: StepState) -> "RunState":
        """The same run with one step replaced."""
        return replace(self, steps={**self.steps, step.ordinal: step})


@dataclass(frozen=True, slots=True)
class TaskState:
    """A task: its plan as far as it is known, and the phases of its runs.

    `unrefined` says that the taskmaster still owes its answer, `asking` that it waits for a
    person's. `looks` says how far each planning has looked, by step, and by 0 for the plan itself.
    """

    phase: TaskPhase = TaskPhase.SUBMITTED
    policy: Policy = field(default_factory=Policy)
    plan: Plan | None = None
    runs: Mapping[int, RunPhase] = field(default_factory=dict)
    postponed: int = 0
    unrefined: bool = False
    asking: bool = False
    looks: Mapping[int, Looking] = field(default_factory=dict)
    reason: str = ""

    def open_questions(self) -> tuple[Step, ...]:
        """The steps whose question nobody has answered yet."""
        return open_questions(() if self.plan is None else self.plan.steps)

    def bare_steps(self) -> tuple[int, ...]:
        """The steps that still have no subtasks."""
        if self.plan is None:
            return ()
        return tuple(step.ordinal for step in self.plan.steps if not step.subtasks)
