"""The port of a planner backend: what the planning roles ask a model or a library of jobs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from shared.contracts.project import ProjectPlan
from shared.domain.agent import RunnerChoice
from shared.domain.bundle import Bundle
from shared.domain.changed_plan import needs_left, renumber
from shared.domain.config import Policy
from shared.domain.errors import Rejected
from shared.domain.look import Look
from shared.domain.plan import DroppedCheck, OnFailure, Plan, Revision, Step, Subtask
from shared.domain.question import Question, Reply
from shared.domain.target import Repository
from shared.domain.task import ENDED_STEP, StepPhase


@dataclass(frozen=True, slots=True)
class AgentHistory:
    """What the attempts of one agent in one repository have taken so far.

    Of `attempts`, `succeeded` were green. The others are medians: `seconds`, `tokens`, and `cost`
    in dollars, None where nobody knows it.
    """

    runner: str
    repository: str
    attempts: int
    succeeded: int
    seconds: float
    tokens: float
    cost: float | None


@dataclass(frozen=True, slots=True)
class AgentOffer:
    """The repositories in which a planner may plan work, and the agents there.

    Of a whole plan: every repository, and `targets`, the names of the targets of its task. Of one
    step: those in which it happens, one for each target, and the agents that all of them allow.
    `choices` are the runners that its plan so far says more about than their name.
    """

    repositories: tuple[Repository, ...] = ()
    runners: tuple[str, ...] = ()
    choices: tuple[RunnerChoice, ...] = ()
    history: tuple[AgentHistory, ...] = ()
    targets: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the repositories."""
        return tuple(repository.name for repository in self.repositories)


NO_AGENTS = AgentOffer()
"""For a planner that hears nothing of agents."""


@dataclass(frozen=True, slots=True)
class SeenLook:
    """What came of a look in round `round_no`: what it printed, or why there is nothing to see.

    `ended` says in words how it ended, or why it was not run.
    """

    round_no: int
    host: str
    command: str
    why: str
    ended: str
    stdout: str = ""
    stderr: str = ""


@dataclass(frozen=True, slots=True)
class Looks:
    """What a planning has seen, and how many more rounds it may ask for.

    `allowed` is how many rounds there are in all; with none, the planner hears nothing of looks.
    """

    seen: tuple[SeenLook, ...] = ()
    left: int = 0
    allowed: int = 0


NO_LOOKS = Looks()
"""For a planner that may not look."""


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a planner is told about a task. `targets` describes each target in one or more lines.

    `facts` is what was observed on the targets, `rules` is what the guard allows on them, and
    `replies` holds the answers of the person who submitted the task. `looks` is what the planner
    has asked to see, `now` the date and time with its zone, `agents` where agents can work. `hosts`
    are the names of the hosts under whose policies the commands of a project would run.
    """

    prompt: str
    targets: tuple[str, ...]
    policy: Policy
    facts: str = ""
    rules: str = ""
    replies: tuple[Reply, ...] = ()
    looks: Looks = NO_LOOKS
    now: str = ""
    agents: AgentOffer = NO_AGENTS
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DoneStep:
    """A step that is done on the target; `found` is what its commands printed, shortened.

    `ordinal` is its number in the plan that is shown with it, None if it is not in that.
    """

    ordinal: int | None
    title: str
    found: str = ""


@dataclass(frozen=True, slots=True)
class DetailRequest:
    """What the subtask planner is told about a step; `plan` shows it the other steps.

    `facts`, `rules`, `replies` and `looks` are as in `PlanRequest`; `done` are the steps that are
    done on the target. For a step of a changed plan, `why` is the planner's reason to change it,
    and `evidence` what made it do so. `hosts` are the names of the hosts under whose policies the
    commands would run. `agents` is what is offered in this step; `before` are the subtasks that it
    replaces in the place where it happens, the newest first.
    """

    prompt: str
    targets: tuple[str, ...]
    policy: Policy
    plan: Plan
    step: Step
    facts: str = ""
    rules: str = ""
    replies: tuple[Reply, ...] = ()
    done: tuple[DoneStep, ...] = ()
    why: str = ""
    evidence: str = ""
    looks: Looks = NO_LOOKS
    hosts: tuple[str, ...] = ()
    now: str = ""
    agents: AgentOffer = NO_AGENTS
    before: tuple[Subtask, ...] = ()


@dataclass(frozen=True, slots=True)
class ReviseRequest:
    """What the author of a step is told when it must revise the step.

    `note` comes from the operator. `earlier` holds all lists that have failed, the current one
    last; none of them may be proposed again (`workers.repetition`). `evidence` is the stored text
    of the bundle, or empty. `target` says how the host is reached; `past_fixes` describes fixes for
    failures like this one; `rules`, `replies`, `looks` and `agents` are as in `DetailRequest`.
    `host` is the name of the host under whose policy the commands would run, empty for the
    bundle's target. `acceptance` are the checks of the first plan that stand for the step's result
    (`shared.domain.acceptance`).
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
    replies: tuple[Reply, ...] = ()
    looks: Looks = NO_LOOKS
    acceptance: tuple[str, ...] = ()
    now: str = ""
    host: str = ""
    agents: AgentOffer = NO_AGENTS

    @property
    def before(self) -> tuple[Subtask, ...]:
        """The subtasks of all lists so far, those of the newest list first."""
        earlier = (s for revision in reversed(self.earlier) for s in revision.subtasks)
        return (*self.subtasks, *earlier)


@dataclass(frozen=True, slots=True)
class RevisionDraft:
    """A planner's answer to a bundle.

    `rollback` names, by key, the subtasks of earlier lists to undo first if they ran;
    `dropped_checks` are the acceptance checks of the first plan that the list gives up.
    """

    subtasks: tuple[Subtask, ...]
    reason: str
    rollback: tuple[str, ...] = ()
    dropped_checks: tuple[DroppedCheck, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplanRequest:
    """What the planner of a task is told about a step that cannot be done as planned.

    `plan` is the plan of the run and `phases` the state of each of its steps, by number. `reason`
    holds the words of the step's author and the operator's note. `evidence` is as in
    `ReviseRequest`; `rules`, `replies`, `looks` and `done` are as in `DetailRequest`; `agents` is
    as in `PlanRequest`.
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
    replies: tuple[Reply, ...] = ()
    done: tuple[DoneStep, ...] = ()
    looks: Looks = NO_LOOKS
    now: str = ""
    agents: AgentOffer = NO_AGENTS

    @property
    def gone(self) -> frozenset[int]:
        """The steps that a changed plan replaces: this one, and all that have not begun."""
        bare = {StepPhase.DETAILING, StepPhase.WAITING}
        return frozenset(
            step.ordinal
            for step in self.plan.steps
            if step.ordinal == self.step.ordinal
            or self.phases.get(step.ordinal) in {StepPhase.NOT_STARTED, StepPhase.SKIPPED}
            or (not step.subtasks and self.phases.get(step.ordinal) in bare)
        )

    def run_with(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        """All steps of the run as they stand, once these have replaced those that go."""
        gone, listed = self.gone, {step.ordinal: step for step in self.plan.steps}
        needs = {number: step.depends_on for number, step in listed.items()}
        awaited = needs_left(needs, gone, lambda number: self._counts(listed[number]))
        kept = (step for number, step in listed.items() if number not in gone)
        return (*kept, *renumber(steps, max(self.phases), awaited))

    def _counts(self, step: Step) -> bool:
        """Whether what needs that step can still begin."""
        phase = self.phases.get(step.ordinal)
        gone_on = phase == StepPhase.ERROR and step.on_failure is OnFailure.CONTINUE
        return gone_on or phase == StepPhase.DONE or phase not in ENDED_STEP


@dataclass(frozen=True, slots=True)
class ProjectDraft:
    """A manager's answer to a goal: the project, and the plan whose steps are its tasks."""

    project: ProjectPlan
    plan: Plan


class NotAsPlanned(Rejected):
    """A planner says that the request cannot be carried out as it was planned."""


class LooksFirst(Exception):
    """A planner wants to see something before it answers; `Looks.left` was not 0."""

    def __init__(self, looks: tuple[Look, ...]) -> None:
        super().__init__(f"the planner asks for {len(looks)} looks")
        self.looks = looks


@dataclass(frozen=True, slots=True)
class RetryAdvice:
    """Whether to retry a failed step unchanged, after how many seconds, and why."""

    retry: bool
    delay: float
    reason: str


class PlannerBackend(Protocol):
    """A backend that answers for the planning roles: a model or a library of known jobs.

    Every method raises Transient (try later), Rejected (no answer, or one that cannot be used) or
    Misconfigured (no key, no library). `plan`, `project`, `detail`, `revise` and `replan` raise
    LooksFirst if they want to see something first. `uses_facts` says whether the backend can use
    facts about the targets.
    """

    @property
    def uses_facts(self) -> bool: ...  # noqa: D102 - described above

    def refine(self, request: PlanRequest) -> str | Question:
        """The improved prompt (S0.2), or a question that must be answered first (S3.57)."""
        ...

    def plan(self, request: PlanRequest) -> Plan:
        """The main steps (S0.26); a step that already has subtasks needs no detailing."""
        ...

    def project(self, request: PlanRequest) -> ProjectDraft:
        """What is there, and the development tasks that remain, in its one repository (S3.55)."""
        ...

    def detail(self, request: DetailRequest) -> tuple[Subtask, ...]:
        """The subtasks of a step (S0.28)."""
        ...

    def revise(self, request: ReviseRequest) -> RevisionDraft:
        """New subtasks for a step, based on its evidence (S0.54–S0.57).

        Raises NotAsPlanned if no list of subtasks can achieve the step.
        """
        ...

    def advise(self, request: ReviseRequest) -> RetryAdvice:
        """Whether to try the same subtasks again, judged from the evidence (S1.35)."""
        ...

    def replan(self, request: ReplanRequest) -> Plan:
        """The steps that replace a step and all that have not begun, numbered from 1.

        A step may already have subtasks; a step without any is detailed next.
        """
        ...
