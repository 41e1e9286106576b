"""What is true of a task and of a run: immutable values, never the history."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from shared.domain.config import Policy
from shared.domain.plan import Author, OnFailure, Plan, Recovery, Step
from shared.domain.task import RunPhase, StepPhase, TaskPhase


@dataclass(frozen=True, slots=True)
class StepState:
    """A step in a run: where it stands, and the counters that the error budget reads.

    `errors` counts failed attempts of this revision, `failures` the failed passes in a row under
    `recovery: retry`, `putting_off` how often in a row a job was put off as transient;
    `forced` and `note` say that an operator asked for a revision, and with which words (S0.85);
    `unknown` that a step which waits does so until a person says how a command ended,
    `unapproved` that it does so until a person approves what is to run,
    `unfinished` that its pass came to no end: it is driven on, since its command may still run;
    `gathered` that the evidence of its present pass is there to be sent, `handed_up` that the
    planner of the task is asked to change what remains; `generation` counts the changes of the plan
    that led to it; `asking` that it waits for a person's answer to its question, which then stands
    in `note`.
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
    putting_off: int = 0
    forced: bool = False
    note: str = ""
    unknown: bool = False
    unfinished: bool = False
    unapproved: bool = False
    asking: bool = False
    gathered: bool = False
    handed_up: bool = False
    generation: int = 0
    reason: str = ""

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
        )

    @property
    def wants_answer(self) -> bool:
        """True while only a person can say how a command of it ended."""
        return self.unknown and self.phase is StepPhase.WAITING

    @property
    def wants_approval(self) -> bool:
        """True while a person is to approve what it would run."""
        return self.unapproved and self.phase is StepPhase.WAITING

    @property
    def wants_reply(self) -> bool:
        """True while a person is to answer a question of it."""
        return self.asking and self.phase is StepPhase.WAITING

    @property
    def wants_sending(self) -> bool:
        """True while a person may send its evidence to its author as it is."""
        return self.gathered and self.phase is StepPhase.WAITING


@dataclass(frozen=True, slots=True)
class RunState:
    """A run: its steps by number; its `id` spreads its waiting spans and decides nothing else."""

    id: int = 0
    phase: RunPhase = RunPhase.NOT_STARTED
    policy: Policy = field(default_factory=Policy)
    steps: Mapping[int, StepState] = field(default_factory=dict)
    reason: str = ""

    def with_step(self, step: StepState) -> "RunState":
        """The same run with one step replaced."""
        return replace(self, steps={**self.steps, step.ordinal: step})


@dataclass(frozen=True, slots=True)
class TaskState:
    """A task: its plan as far as it is known, and the phases of its runs.

    `unrefined` says that the taskmaster still owes its answer, `asking` that it waits for a
    person's.
    """

    phase: TaskPhase = TaskPhase.SUBMITTED
    policy: Policy = field(default_factory=Policy)
    plan: Plan | None = None
    runs: Mapping[int, RunPhase] = field(default_factory=dict)
    putting_off: int = 0
    unrefined: bool = False
    asking: bool = False
    reason: str = ""

    def unanswered(self) -> tuple[Step, ...]:
        """The steps whose question nobody has answered yet."""
        steps = () if self.plan is None else self.plan.steps
        return tuple(step for step in steps if step.ask_question and step.answer is None)

    def undetailed(self) -> tuple[int, ...]:
        """The steps that still have no subtasks."""
        if self.plan is None:
            return ()
        return tuple(step.ordinal for step in self.plan.steps if not step.subtasks)
