"""Runs and tasks at any point of their story, told by the facts that brought them there."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.core.decisions import Decision
from orchestrator.core.machine import advance
from orchestrator.core.state import RunState, StepState, TaskState, WaitsFor
from shared.domain import facts as f
from shared.domain.author import Author, PlanningRole
from shared.domain.budget import Ending
from shared.domain.config import Policy
from shared.domain.delivery import Acceptance, Published, Stage
from shared.domain.jobs import JobKind
from shared.domain.look import Look
from shared.domain.plan import Plan, Step, Subtask
from shared.domain.task import RunPhase, StepPhase, TaskPhase

SUBTASK_PLANNER = Author(PlanningRole.SUBTASK_PLANNER, "anthropic")
PLANNER = Author(PlanningRole.PLANNER, "anthropic")
BY_HAND = Author(PlanningRole.HUMAN, "human")
LOOKS = (Look("ss -ltnp", "who has the port"),)


def subtasks(*commands: str) -> tuple[Subtask, ...]:
    """Subtasks of these commands, each needing the one before it."""
    keys = [f"s{number}" for number, _ in enumerate(commands, 1)]
    return tuple(
        Subtask(
            ordinal=number,
            key=keys[number - 1],
            title=command,
            command=command,
            needs=tuple(keys[number - 2 : number - 1]) if number > 1 else (),
        )
        for number, command in enumerate(commands, 1)
    )


def step(ordinal: int = 1, **said: Any) -> Step:
    """A step of one subtask, planned by the subtask planner unless said otherwise."""
    given: dict[str, Any] = {
        "key": f"step-{ordinal}",
        "title": f"Step {ordinal}",
        "instruction": "do it",
        "author": SUBTASK_PLANNER,
        "subtasks": subtasks("true"),
    }
    return Step(ordinal=ordinal, **(given | said))


def bare(ordinal: int = 1, **said: Any) -> Step:
    """A step that is still to be detailed."""
    return step(ordinal, subtasks=(), author=PLANNER, **said)


def at(state: StepState, phase: StepPhase) -> StepState:
    """The same step in another phase; one that waits does so for somebody's decision."""
    waits_for = WaitsFor.DECISION if phase is StepPhase.WAITING else None
    accepting = phase is StepPhase.ACCEPTING
    acceptance = Acceptance(Published("d"), Stage.QUEUED) if accepting else None
    return replace(state, phase=phase, waits_for=waits_for, acceptance=acceptance)


def replay(state: RunState, facts: Iterable[f.RunFact]) -> RunState:
    """Fold the facts of a run."""
    for fact in facts:
        state, _ = advance(state, fact)
    return state


def replay_task(state: TaskState, facts: Iterable[f.TaskFact]) -> TaskState:
    """Fold the facts of a task."""
    for fact in facts:
        state, _ = advance(state, fact)
    return state


def plan(*steps: Step) -> Plan:
    """A plan of these steps."""
    return Plan(steps=steps)


@dataclass
class Run:
    """A run and what was decided last; facts carry the present revision and pass unless said."""

    state: RunState = field(default_factory=RunState)
    decided: tuple[Decision, ...] = ()
    told: list[f.RunFact] = field(default_factory=list)

    def tell(self, fact: f.RunFact) -> tuple[Decision, ...]:
        """Apply a fact; returns what was decided."""
        self.state, self.decided = advance(self.state, fact)
        self.told.append(fact)
        return self.decided

    def step(self, ordinal: int = 1) -> StepState:
        """A step as it stands."""
        return self.state.steps[ordinal]

    def phase(self, ordinal: int = 1) -> StepPhase:
        """Where a step stands."""
        return self.step(ordinal).phase

    def phases(self) -> list[str]:
        """Where each step stands, in the plan's order."""
        return [step.phase.value for step in self.state.steps.values()]

    def pass_starts(self, ordinal: int = 1) -> tuple[Decision, ...]:
        """A worker takes the step's execution job."""
        at = self.step(ordinal)
        return self.tell(f.PassStarted(ordinal, at.revision, at.pass_no))

    def pass_ends(
        self, ending: Ending = Ending.DONE, ordinal: int = 1, *, errors: int = 0, reason: str = ""
    ) -> tuple[Decision, ...]:
        """The present pass of a step ends."""
        return self.tell(self.pass_end(ending, ordinal, errors=errors, reason=reason))

    def pass_end(
        self, ending: Ending = Ending.DONE, ordinal: int = 1, *, errors: int = 0, reason: str = ""
    ) -> f.PassFinished:
        """The fact that the present pass of a step ends."""
        at = self.step(ordinal)
        return f.PassFinished(ordinal, at.revision, at.pass_no, ending, errors, reason)

    def bundle_is_ready(self, ordinal: int = 1) -> tuple[Decision, ...]:
        """The step's evidence has been gathered."""
        at = self.step(ordinal)
        return self.tell(f.BundleReady(ordinal, at.revision, at.pass_no, bundle_id=7))

    def is_revised(
        self, ordinal: int = 1, *, author: Author = SUBTASK_PLANNER
    ) -> tuple[Decision, ...]:
        """The step gets its next list of subtasks."""
        at = self.step(ordinal)
        return self.tell(f.StepRevised(ordinal, at.revision + 1, author, subtasks("again")))

    def job_fails(
        self,
        kind: JobKind,
        family: str = "transient",
        ordinal: int = 1,
        **said: Any,
    ) -> tuple[Decision, ...]:
        """The open job of a step could not be done."""
        return self.tell(self.job_failure(kind, family, ordinal, **said))

    def job_failure(
        self,
        kind: JobKind,
        family: str = "transient",
        ordinal: int = 1,
        **said: Any,
    ) -> f.JobFailed:
        """The fact that the open job of a step could not be done."""
        at = self.step(ordinal)
        given: dict[str, Any] = {
            "revision": at.revision,
            "pass_no": at.pass_no,
            "postponed": at.postponed,
            "stage": "test",
            "reason": f"{family} trouble",
        }
        return f.JobFailed(kind=kind, step=ordinal, family=family, **(given | said))

    def escalates(self, ordinal: int = 1) -> tuple[Decision, ...]:
        """The present pass reaches the threshold and its evidence is gathered."""
        self.pass_starts(ordinal)
        threshold = self.state.policy.error_threshold_per_step
        self.pass_ends(Ending.THRESHOLD, ordinal, errors=threshold)
        return self.bundle_is_ready(ordinal)


def running(*steps: Step, **policy: Any) -> Run:
    """A run that has just begun these steps (one, unless given) under this policy."""
    run = Run()
    run.tell(f.RunStarted(Policy(**policy), plan(*(steps or (step(),)))))
    return run


@dataclass
class Task:
    """A task and what was decided last."""

    state: TaskState = field(default_factory=TaskState)
    decided: tuple[Decision, ...] = ()
    told: list[f.TaskFact] = field(default_factory=list)

    def tell(self, fact: f.TaskFact) -> tuple[Decision, ...]:
        """Apply a fact; returns what was decided."""
        self.state, self.decided = advance(self.state, fact)
        self.told.append(fact)
        return self.decided

    @property
    def phase(self) -> TaskPhase:
        """Where the task stands."""
        return self.state.phase

    def runs_are(self, *phases: RunPhase) -> TaskPhase:
        """Each run reports its phase, the first run first; returns where the task stands."""
        for run_id, phase in enumerate(phases, 1):
            self.tell(f.RunChanged(run_id, phase))
        return self.phase

    def job_fails(
        self,
        kind: JobKind,
        family: str = "transient",
        ordinal: int | None = None,
        **said: Any,
    ) -> tuple[Decision, ...]:
        """A job of the task could not be done."""
        given: dict[str, Any] = {"postponed": self.state.postponed, "stage": "test"}
        given["reason"] = f"{family} trouble"
        fact = f.JobFailed(
            kind=kind, step=ordinal, revision=0, pass_no=0, family=family, **(given | said)
        )
        return self.tell(fact)


def submitted(*, runs: int = 1, given: Plan | None = None, **policy: Any) -> Task:
    """A task that was just submitted, with that many runs."""
    task = Task()
    task.tell(f.TaskSubmitted(Policy(**policy), tuple(range(1, runs + 1)), given))
    return task
