"""A simulated world: what coordinator and store do with decisions, and the promises that must hold.

Jobs are kept as the store keeps them: at most one of a kind is open for a step; a new one takes the
place of the old. Facts between a task and its runs come in order; a worker's fact may come again,
late, or after its job was withdrawn.
"""

from collections import deque
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from orchestrator.core import decisions as d
from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.core.machine import advance
from orchestrator.core.state import RunState, TaskState, WaitsFor
from shared.domain import facts as f
from shared.domain.budget import Ending
from shared.domain.config import ASK, PLAN
from shared.domain.delivery import Published
from shared.domain.jobs import SPARED, JobKind
from shared.domain.plan import Plan, open_questions
from shared.domain.task import ENDED_RUN, ENDED_TASK, RunPhase, StepPhase, TaskPhase
from tests.unit.core.given import replay, replay_task
from tests.unit.core.ledger import Ledger
from tests.unit.core.open_jobs import OpenJob

AT_WORK = {StepPhase.READY, StepPhase.RUNNING}
HELD_UP = {StepPhase.WAITING, StepPhase.BLOCKED}
GOES_ON = {StepPhase.DETAILING, StepPhase.REPLANNING}
ENDED_BY: dict[WaitsFor | None, type] = {
    WaitsFor.OUTCOME: f.OutcomeTold,
    WaitsFor.RECORDS: f.RecordsSettled,
    WaitsFor.ANSWER: f.QuestionAnswered,
    WaitsFor.BUDGET: f.SpendingAllowed,
    WaitsFor.ACCEPTANCE: f.DeliveryRejected,
}
"""The only facts after which a step is run that has waited for this."""
PLANNING = {TaskPhase.REFINING: JobKind.REFINE, TaskPhase.PLANNING: JobKind.PLAN}

Transition = tuple[str, str, str]
"""From phase, kind of fact, to phase."""


def _transition(before: TaskState, fact: f.Fact, after: TaskState) -> Transition:
    return before.phase.value, type(fact).__name__, after.phase.value


def _for_runs(decision: d.Decision) -> f.RunFact:
    match decision:
        case d.StartRuns(policy, plan):
            return f.RunStarted(policy, plan)
        case d.CancelRuns():
            return f.CancelRequested()
        case d.TellPolicy(changes):
            return f.PolicyChanged(changes)
    assert isinstance(decision, d.ResumeRuns)
    return f.ResumeRequested()


@dataclass
class World:
    """A task, its runs, the open jobs, who is waited for, and the facts on their way.

    `impatience` says how readily people there cancel, `delivers` that its runs are sessions.
    """

    rng: Random
    echoing: bool = False
    impatience: float = 0.1
    delivers: bool = False
    task: TaskState = field(default_factory=TaskState)
    runs: dict[int, RunState] = field(default_factory=dict)
    jobs: dict[tuple[int | None, int | None, JobKind], OpenJob] = field(default_factory=dict)
    asked: set[tuple[int | None, int | None, InterventionKind]] = field(default_factory=set)
    ledger: Ledger = field(default_factory=Ledger)
    settled: set[tuple[int, int, int]] = field(default_factory=set)
    mail: deque[tuple[int | None, f.Fact]] = field(default_factory=deque)
    echoes: list[tuple[int | None, f.Fact]] = field(default_factory=list)
    told: dict[int | None, list[f.Fact]] = field(default_factory=dict)
    counted: dict[int | None, list[f.Fact]] = field(default_factory=dict)
    step_transitions: set[Transition] = field(default_factory=set)
    task_transitions: set[Transition] = field(default_factory=set)
    decided: set[type] = field(default_factory=set)
    left_running: set[tuple[int, int]] = field(default_factory=set)
    disabled: set[str] = field(default_factory=set)
    looks: dict[tuple[int | None, int | None], d.KeepLooks] = field(default_factory=dict)

    def submit(self, fact: f.TaskSubmitted) -> None:
        """The first fact of all."""
        self.runs = {run_id: RunState() for run_id in fact.run_ids}
        self.post(None, fact)

    def post(self, run: int | None, fact: f.Fact) -> None:
        """A fact is reported; it will be folded in when its turn comes."""
        self.mail.append((run, fact))

    def report(self, job: OpenJob, fact: f.Fact) -> None:
        """A worker ends its job with a fact, which in an echoing world may come again."""
        del self.jobs[job.run, job.step, job.kind]
        self.tell_of(job, fact)

    def tell_of(self, job: OpenJob, fact: f.Fact) -> None:
        """A worker tells something of its job."""
        if self.echoing and isinstance(fact, f.PassStarted) and self.rng.random() < 0.2:
            self.echoes.append((job.run, fact))  # overtaken by what follows it
            return
        self.post(job.run, fact)
        if self.echoing and self.rng.random() < 0.3:
            self.echoes.append((job.run, fact))

    def deliver(self) -> None:
        """Fold in the next fact."""
        self.fold(*self.mail.popleft())

    def echo(self) -> None:
        """Fold in some duplicate or straggler; it may come yet again."""
        at = self.rng.randrange(len(self.echoes))
        run, fact = self.echoes[at]
        if self.rng.random() < 0.7:
            del self.echoes[at]
        self.fold(run, fact)

    def fold(self, run: int | None, fact: f.Fact) -> None:
        """Advance the task or a run by one fact, check every promise, carry out the decisions."""
        self.told.setdefault(run, []).append(fact)
        before = RunState() if run is None else self.runs[run]
        if run is None:
            before_task = self.task
            self.task, decisions = advance(before_task, fact)  # type: ignore[arg-type]
            counts = self.task is not before_task or bool(decisions)
            if counts:
                self.task_transitions.add(_transition(before_task, fact, self.task))
            self._check_told_twice(self.task, fact)
        else:
            self.runs[run], decisions = advance(before, fact)  # type: ignore[arg-type]
            counts = self.runs[run] is not before or bool(decisions)
            self._note_run(run, before, self.runs[run], fact, counts=counts)
            self._check_told_twice(self.runs[run], fact)
        if counts and isinstance(fact, f.ResumeRequested | f.RecordsSettled):
            self._drop_fenced(run)
        if counts:
            self.counted.setdefault(run, []).append(fact)
        for decision in decisions:
            self.decided.add(type(decision))
            self._carry_out(run, decision)
        if run is not None:
            if counts and isinstance(fact, f.CheckpointFinished):
                self.ledger.adopt(run, before, fact)
            self.ledger.check(run, before, self.runs[run])

    def _drop_fenced(self, run: int | None) -> None:
        """Who drives a pass on has another fence: the store refuses what its old worker says."""
        self.echoes = [
            (of, fact)
            for of, fact in self.echoes
            if of != run or not isinstance(fact, f.JobFailed | f.PassFinished)
        ]

    def _note_run(
        self, run_id: int, before: RunState, after: RunState, fact: f.Fact, *, counts: bool
    ) -> None:
        for ordinal, step in after.steps.items():
            old = before.steps.get(ordinal)
            phase = StepPhase.NOT_STARTED if old is None else old.phase
            begins = phase is StepPhase.NOT_STARTED and step.phase in AT_WORK | GOES_ON
            assert not (begins and after.paused), "begun while it was paused"
            ended = {StepPhase.DONE, StepPhase.REPLACED}
            assert phase not in ended or step == old, "a finished step was touched"
            waited = {StepPhase.NOT_STARTED, StepPhase.DETAILING}
            of_itself = not isinstance(fact, f.StepRevised)  # which a person says of the step
            if phase in waited and step.phase in AT_WORK and before.steps and of_itself:
                self._check_begun(before, after)
            if old is not None and step.phase in AT_WORK and old.waits_for in ENDED_BY:
                ends = ENDED_BY[old.waits_for], f.StepRevised
                assert isinstance(fact, ends), f"run, and nobody said its {old.waits_for}"
            about_it = old is None or (counts and getattr(fact, "step", None) == ordinal)
            if step.phase is StepPhase.CANCELLED and phase is StepPhase.RUNNING:
                self.left_running.add((run_id, ordinal))
            if phase is not step.phase or about_it:
                self.step_transitions.add((phase.value, type(fact).__name__, step.phase.value))

    def _check_begun(self, before: RunState, after: RunState) -> None:
        waits = [
            ordinal
            for ordinal, step in after.steps.items()
            if step.waits_for is WaitsFor.APPROVAL and before.steps[ordinal] == step
        ]
        asking = self.task.policy.autonomy == ASK
        assert not (asking and waits), "begun although a person was still to be heard"

    def _check_told_twice(self, state: RunState | TaskState, fact: Any) -> None:
        """The same fact once more changes nothing (a failed detailing has no number)."""
        if isinstance(fact, f.JobFailed) and fact.kind in {JobKind.DETAIL, JobKind.LOOK}:
            return
        again, _ = advance(state, fact)
        assert again == state, f"{fact} told twice"

    def _carry_out(  # noqa: C901, PLR0912 - one case a decision
        self, run: int | None, decision: d.Decision
    ) -> None:
        match decision:
            case d.Enqueue():
                self._enqueue(run, decision)
            case d.KeepLooks():
                self.looks[run, decision.step] = decision
            case d.CancelJobs(step):
                self._cancel_jobs(run, step)
            case d.CancelAttempt(key):
                passes = {f"R{j.run}-{j.step}-p{j.pass_no}" for j in self.jobs.values()}
                assert key in passes, "a worker is told to end what it does not run"
            case d.OpenIntervention():
                self.asked.add((run, decision.step, decision.kind))
            case d.CloseInterventions(intervention=int()):
                pass  # one question of several of the same step
            case d.CloseInterventions(step, sparing, _, only):
                self.asked = {
                    (of, at, kind)
                    for of, at, kind in self.asked
                    if run not in {None, of}
                    or step not in {None, at}
                    or at in sparing
                    or only not in {None, kind}
                }
            case d.SettleDelivery():
                assert run is not None
                self.ledger.settle(run, decision)
            case d.SettleAttempt():
                assert run is not None
                place = run, decision.step, decision.pass_no
                assert place not in self.settled, "one command was answered for twice"
                self.settled.add(place)
            case d.SettleClaims():
                assert run is not None
                assert decision.claims, "an answer about nothing"
            case d.SetBudget():
                assert run is not None
                assert decision.subtask, "a budget of no subtask"
            case d.CloseAttempt(step):
                assert run is not None
                assert (run, step) in self.left_running, "nothing ran there"
                self.left_running.discard((run, step))
            case d.FreeJob(kind, step):
                assert (run, step, kind) in self.jobs, "a job was freed that is not open"
            case d.FillStep(step):
                assert run is not None
                assert not self.runs[run].steps[step].bare
            case d.Grant() | d.AddSteps() | d.Learn() | d.EndCheckpoint():
                self._check_written(run, decision)
            case d.DisableHost(host):
                self.disabled.add(host)
            case d.ReportRun(phase):
                assert run is not None
                self.post(None, f.RunChanged(run, phase))
            case _:
                if isinstance(decision, d.StartRuns):
                    self._check_started()
                for run_id in self.runs:
                    self.post(run_id, _for_runs(decision))

    def _check_started(self) -> None:
        assert not self.task.open_questions(), "a plan began with a question open"
        told = self.told[None][-1]
        approved = self.task.policy.autonomy != PLAN or isinstance(told, f.PlanApproved)
        empty = self.task.plan == Plan(())
        assert approved or empty, "a plan began that nobody approved"

    def _check_written(
        self, run: int | None, decision: d.Grant | d.AddSteps | d.Learn | d.EndCheckpoint
    ) -> None:
        if isinstance(decision, d.EndCheckpoint):
            job = run, None, JobKind.CHECKPOINT
            assert job not in self.jobs, "a checkpoint was ended under its worker"
            return
        if isinstance(decision, d.Grant):
            assert decision.approvals
            return
        assert run is not None
        if isinstance(decision, d.AddSteps):
            written = {step.ordinal for step in decision.steps}
            assert written <= set(self.runs[run].steps), "steps nobody carries out"
            assert not open_questions(decision.steps), "a step that asks began unanswered"
            return
        at = self.runs[run].steps[decision.step]
        assert at.revision == decision.revision > 0
        done = {StepPhase.DONE, StepPhase.ACCEPTED}
        assert decision.worked == (at.phase in done), "learnt what is not so"

    def _enqueue(self, run: int | None, asked: d.Enqueue) -> None:
        if asked.kind is JobKind.EXECUTE:
            assert run is not None
            assert asked.step is not None
            assert self.runs[run].steps[asked.step].phase in AT_WORK, "nobody runs what is at rest"
            live = self.jobs.get((run, asked.step, JobKind.EXECUTE))
            assert live is None or (live.revision, live.pass_no) == (
                asked.revision,
                asked.pass_no,
            ), "two passes of one step at once"
        state = None if run is None else self.runs[run]
        self.jobs[run, asked.step, asked.kind] = OpenJob.of(run, asked, state)

    def _cancel_jobs(self, run: int | None, step: int | None) -> None:
        for key, job in list(self.jobs.items()):
            if run not in {None, job.run} or step not in {None, job.step}:
                continue
            if job.kind in SPARED:
                continue
            del self.jobs[key]
            if self.echoing and job.kind is JobKind.EXECUTE and job.started:
                assert job.step is not None
                ending = self.rng.choice([Ending.CANCELLED, Ending.DONE, Ending.THRESHOLD])
                late = f.PassFinished(job.step, job.revision, job.pass_no, ending, 1)
                if self.delivers and ending is Ending.DONE:
                    assert job.run is not None
                    name = self.ledger.publish(job.run, job.step, job.pass_no)
                    late = replace(late, published=Published(name))
                self.echoes.append((job.run, late))

    # --- promises -------------------------------------------------------------------------------

    def ended(self) -> bool:
        """Whether nothing is left to do."""
        return self.task.phase in ENDED_TASK and all(
            run.phase in ENDED_RUN for run in self.runs.values()
        )

    def check_replay(self) -> None:
        """The facts tell the whole story: all of them, or only those that were no echoes."""
        for kept in (self.told, self.counted):
            for run_id, run in self.runs.items():
                assert replay(RunState(), kept.get(run_id, ())) == run  # type: ignore[arg-type]
            assert replay_task(TaskState(), kept.get(None, ())) == self.task  # type: ignore[arg-type]

    def check_at_rest(self) -> None:
        """With no fact on its way, nobody is forgotten and nobody works for nothing."""
        assert not self.mail
        for run_id, run in self.runs.items():
            known = self.task.runs.get(run_id, RunPhase.NOT_STARTED)
            if self.task.phase not in {TaskPhase.DONE, TaskPhase.CANCELLED}:
                assert known is run.phase, "the task does not know where its run stands"
            for ordinal, step in run.steps.items():
                self._check_step_at_rest(run_id, ordinal, step.phase)
            self._check_deliveries_at_rest(run_id, run)
        if self.task.phase is TaskPhase.WAITING:
            idle = any(run.held_open or run.paused for run in self.runs.values())
            assert self.asked or idle, "the task waits and nobody was asked"
        if self.task.phase in PLANNING:
            self._check_planned(None, PLANNING[self.task.phase])
        if self.task.phase is TaskPhase.DETAILING:
            for ordinal in self.task.bare_steps():
                self._check_planned(ordinal, JobKind.DETAIL)

    def _check_deliveries_at_rest(self, run_id: int, run: RunState) -> None:
        jobs: dict[int | None, dict[JobKind, int]] = {}
        for (of, at, kind), job in self.jobs.items():
            if of == run_id:
                jobs.setdefault(at, {})[kind] = job.postponed
        asked = {kind for of, at, kind in self.asked if (of, at) == (run_id, None)}
        self.ledger.check_at_rest(run, jobs, asked)
        if run.phase in ENDED_RUN:
            self.ledger.check_ended(run_id, run)

    def _check_planned(self, step: int | None, kind: JobKind) -> None:
        looking = self.task.looks.get(step or 0)
        looks = looking is not None and looking.under_way
        assert (None, step, JobKind.LOOK if looks else kind) in self.jobs

    def _check_step_at_rest(self, run: int, ordinal: int, phase: StepPhase) -> None:
        open_kinds = {kind for of, at, kind in self.jobs if (of, at) == (run, ordinal)}
        step = self.runs[run].steps[ordinal]
        asked = {kind for of, at, kind in self.asked if (of, at) == (run, ordinal)}
        if phase in HELD_UP:
            assert asked, "a step waits and nobody was asked"
        shown = InterventionKind.DELIVERY in asked
        assert shown is (step.waits_for is WaitsFor.ACCEPTANCE), "asked about another delivery"
        if phase in AT_WORK:
            job = self.jobs.get((run, ordinal, JobKind.EXECUTE))
            assert job is not None, "a step is at work and has no job"
            assert (job.revision, job.pass_no) == (step.revision, step.pass_no)
            assert job.postponed == step.postponed, "its failure would go unheard"
        if phase is StepPhase.REPLANNING:
            below = {JobKind.GATHER, JobKind.REVISE, JobKind.ADVISE}
            above = JobKind.REPLAN if step.draft is None else JobKind.DETAIL
            kinds = {above} if step.handed_up else below
            kinds = {JobKind.LOOK} if step.looks.under_way else kinds
            assert open_kinds & kinds, "a revision nobody works at"
        if phase is StepPhase.DETAILING:
            kind = JobKind.LOOK if step.looks.under_way else JobKind.DETAIL
            job = self.jobs.get((run, ordinal, kind))
            assert job is not None, "a step is detailed and has no job"
            assert job.postponed == step.postponed, "its failure would go unheard"
        assert not (step.bare and phase in AT_WORK), "a step without subtasks is at work"
        if phase not in AT_WORK | {*GOES_ON, StepPhase.ACCEPTING}:
            assert not open_kinds, "a job for a step at rest"
            assert not step.cleanups, "a clean-up nobody works at"
