"""The store in memory: ledger and queue together, every value sent through the codec."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, assert_never

from orchestrator.core.decisions import (
    AddSteps,
    CancelAttempt,
    CancelJobs,
    CancelRuns,
    CloseAttempt,
    CloseInterventions,
    Decision,
    DisableHost,
    EndCheckpoint,
    Enqueue,
    FillStep,
    FreeJob,
    Grant,
    KeepLooks,
    Learn,
    OpenIntervention,
    ReportRun,
    ResumeRuns,
    SetBudget,
    SettleAttempt,
    SettleClaims,
    SettleDelivery,
    StartRuns,
    TellPolicy,
)
from orchestrator.core.state import RunState, TaskState
from orchestrator.rows import job_of
from shared.domain.attempt import Answer, Attempt
from shared.domain.config import Policy
from shared.domain.errors import Defect, ReplanError
from shared.domain.facts import CommandLeftRunning, Fact, TaskSubmitted
from shared.domain.jobs import SPARED, Job, JobKind
from shared.domain.outcome import Outcome
from shared.domain.plan import Plan
from shared.domain.task import StepPhase
from shared.fact_wire import decode_fact, encode_fact
from shared.store.inbox import Report
from shared.store.jobs import NewJob
from shared.wire import from_json, to_json
from tests.fakes.memory_deliveries import MemoryDelivery, settle_delivery


@dataclass(slots=True)
class _Slot:
    """A job's row."""

    id: int
    job: NewJob
    due: float
    state: str = "open"
    lease_until: float | None = None
    fence: int = 0
    claims: int = 0
    owned: bool = False
    cancel_attempt: str | None = None


@dataclass(slots=True)
class _Tried:
    """An attempt's row."""

    attempt: Attempt
    running: bool


class MemoryStore:
    """Ledger and queue with a clock that the test moves (`now`, in seconds)."""

    def __init__(self) -> None:
        self.now = 0.0
        self.tasks: dict[int, Any] = {}
        self.runs: dict[int, Any] = {}
        self.task_of: dict[int, int] = {}
        self.inbox: list[tuple[int, int | None, str, Any]] = []
        self.events: list[tuple[int, int | None, str]] = []
        self.slots: dict[int, _Slot] = {}
        self.interventions: list[dict[str, Any]] = []
        self.attempts: dict[str, _Tried] = {}
        self.approvals: list[tuple[int, str]] = []
        self.deliveries: list[MemoryDelivery] = []

    def submit(self, targets: Sequence[str], policy: Policy, plan: Plan | None) -> int:
        """A task with a run for each target, reported to the coordinator."""
        task_id = len(self.tasks) + 1
        run_ids = tuple(range(len(self.runs) + 1, len(self.runs) + 1 + len(targets)))
        self.tasks[task_id] = to_json(TaskState(policy=policy))
        self.runs |= {run_id: to_json(RunState(id=run_id)) for run_id in run_ids}
        self.task_of |= dict.fromkeys(run_ids, task_id)
        self.send([(task_id, None, TaskSubmitted(policy, run_ids, plan))])
        return task_id

    def send(self, reports: Sequence[Report]) -> None:
        """Put facts into the inbox."""
        self.inbox += [(task, run, *encode_fact(fact)) for task, run, fact in reports]

    @contextmanager
    def open(self, limit: int) -> Iterator["MemoryUnit"]:
        """A unit over the reports of at most `limit` tasks."""
        chosen = list(dict.fromkeys(task for task, *_ in self.inbox))[:limit]
        taken = [entry for entry in self.inbox if entry[0] in chosen]
        unit = MemoryUnit(self, [(t, r, decode_fact(k, b)) for t, r, k, b in taken])
        yield unit
        unit.flush()
        self.inbox = [entry for entry in self.inbox if entry not in taken]

    def enqueue(self, new: NewJob) -> None:
        """Open a job; it takes the place of an open one of its step.

        A clean-up takes the place of the withdrawn job of its pass.
        """
        if new.kind is JobKind.CLEAN_UP:
            for slot in self.slots.values():
                place = slot.job.run_id, slot.job.step, slot.job.pass_no
                if slot.state == "cancelled" and place == (new.run_id, new.step, new.pass_no):
                    slot.state = "done"
        for slot in self.slots.values():
            if slot.state == "open" and _place(slot.job) == _place(new):
                slot.cancel_attempt = self._wanted_before(new)
                slot.job, slot.due, slot.owned = new, self.now + new.delay, False
                slot.lease_until, slot.claims, slot.fence = None, 0, slot.fence + 1
                return
        job_id = len(self.slots) + 1
        wanted = self._wanted_before(new)
        self.slots[job_id] = _Slot(job_id, new, self.now + new.delay, cancel_attempt=wanted)

    def cancel(self, task_id: int, run_id: int | None, step: int | None) -> None:
        """Withdraw open jobs."""
        for slot in self.slots.values():
            fits = slot.job.task_id == task_id
            fits &= run_id is None or slot.job.run_id == run_id
            fits &= step is None or slot.job.step == step
            if fits and slot.state == "open" and slot.job.kind not in SPARED:
                slot.state = "cancelled"

    def cancel_attempt(self, key: str) -> None:
        """Have a running attempt ended; nothing when it does not run or its job is not open."""
        tried = self.attempts.get(key)
        slot = None if tried is None or not tried.running else self._slot_of(tried.attempt)
        if slot is not None and slot.state == "open":
            slot.cancel_attempt = key

    def record(self, job: Job, attempt: Attempt, *, ended: bool) -> bool:
        """Write an attempt under its job's fence; returns whether the job is still ours."""
        slot = self.slots[job.id]
        if slot.fence != job.fence or slot.state == "done":
            return False
        self.attempts[attempt.key] = _Tried(attempt, running=not ended)
        return slot.state == "open"

    def settle(self, run_id: int, step: int, pass_no: int, answer: Answer) -> None:
        """Write a person's answer to the attempt at which a pass ended `unknown`."""
        for tried in reversed(self.attempts.values()):
            a = tried.attempt
            place = a.run_id, a.step, a.pass_no, a.outcome
            if place == (run_id, step, pass_no, Outcome.UNKNOWN):
                ran = answer is Answer.RAN
                outcome = Outcome.OK if ran else Outcome.UNKNOWN
                tried.attempt = replace(a, outcome=outcome, told_by_person=answer)
                return

    def close(self, run_id: int, step: int, pass_no: int) -> None:
        """Call unknown how the attempt of that pass ended that still shows as running."""
        for tried in self.attempts.values():
            a = tried.attempt
            if tried.running and (a.run_id, a.step, a.pass_no) == (run_id, step, pass_no):
                told = "no worker could end it: it may still run"
                tried.attempt = replace(a, outcome=Outcome.UNKNOWN, reason=told)
                tried.running = False

    def _slot_of(self, attempt: Attempt) -> _Slot:
        """The newest execution job of an attempt's pass."""
        place = attempt.run_id, attempt.step, attempt.pass_no, JobKind.EXECUTE
        return next(
            slot
            for slot in reversed(self.slots.values())
            if (slot.job.run_id, slot.job.step, slot.job.pass_no, slot.job.kind) == place
        )

    def _wanted_before(self, new: NewJob) -> str | None:
        """What was to be ended of the same pass before it was put off."""
        passes = [s for s in self.slots.values() if s.job.pass_no == new.pass_no]
        same = [s for s in passes if _place(s.job) == _place(new)]
        return same[-1].cancel_attempt if new.postponed and same else None

    def waiting(self) -> list[int]:
        """The due jobs that nobody has claimed."""
        return [slot.id for slot in self.slots.values() if self._free(slot)]

    def claim(self, job_id: int, lease: float) -> Job | None:
        """Take a due and free job."""
        slot = self.slots.get(job_id)
        if slot is None or not self._free(slot):
            return None
        slot.lease_until = self.now + lease
        slot.owned = True
        slot.fence += 1
        slot.claims += 1
        new = slot.job
        return Job(
            id=job_id,
            kind=new.kind,
            task_id=new.task_id,
            run_id=new.run_id,
            step=new.step,
            revision=new.revision,
            pass_no=new.pass_no,
            fence=slot.fence,
            claims=slot.claims,
            postponed=new.postponed,
            note=new.note,
            answer=new.answer,
            cancel_attempt=slot.cancel_attempt,
        )

    def renew(self, job: Job, lease: float) -> dict[int, str | None]:
        """Prolong a lease; nothing when the job is no longer ours, else what is to be ended."""
        slot = self.slots[job.id]
        if slot.fence != job.fence or slot.state != "open":
            return {}
        slot.lease_until = self.now + lease
        return {job.id: slot.cancel_attempt}

    def finish(self, job: Job, fact: Fact) -> bool:
        """End a job with its fact; False, and nothing happens, when it is no longer ours."""
        slot = self.slots[job.id]
        if slot.fence != job.fence:
            return False
        slot.lease_until = None
        if slot.state != "open":
            return False
        slot.state = "done"
        self.send([(job.task_id, job.run_id, fact)])
        return True

    def tell_left_running(self) -> int:
        """Tell of each cancelled step of which an attempt still runs and no worker is at it."""
        found: dict[tuple[int, int], CommandLeftRunning] = {}
        for tried in self.attempts.values():
            a = tried.attempt
            if self._left_running(tried) and not self._leased(a.run_id, a.step):
                fact = CommandLeftRunning(a.step, a.revision, a.pass_no)
                found.setdefault((a.run_id, a.step), fact)
        self.send([(self.task_of[run], run, fact) for (run, _), fact in found.items()])
        return len(found)

    def _left_running(self, tried: _Tried) -> bool:
        run = from_json(RunState, self.runs[tried.attempt.run_id])
        step = run.steps[tried.attempt.step]
        return tried.running and step.phase is StepPhase.CANCELLED and step.cleanups == 0

    def _leased(self, run_id: int, step: int) -> bool:
        return any(
            slot.lease_until is not None and slot.lease_until >= self.now
            for slot in self.slots.values()
            if (slot.job.run_id, slot.job.step, slot.job.kind) == (run_id, step, JobKind.EXECUTE)
        )

    def _free(self, slot: _Slot) -> bool:
        held = slot.lease_until is not None and slot.lease_until >= self.now
        return slot.state == "open" and slot.due <= self.now and not held


class MemoryUnit:
    """States read and changed between one look into the inbox and its commit."""

    def __init__(self, store: MemoryStore, reports: Sequence[Report]) -> None:
        self.reports = reports
        self._store = store
        self._tasks: dict[int, TaskState] = {}
        self._runs: dict[int, RunState] = {}
        self._acts: list[Callable[[], None]] = []

    def turn_to(self, position: int) -> None:
        """The events of this store bear no times."""

    def task(self, task_id: int) -> TaskState:
        """The task as this unit sees it."""
        if task_id not in self._tasks:
            self._tasks[task_id] = from_json(TaskState, self._store.tasks[task_id])
            runs = {
                run: from_json(RunState, self._store.runs[run]).phase
                for run, owner in self._store.task_of.items()
                if owner == task_id
            }
            self._tasks[task_id] = replace(self._tasks[task_id], runs=runs)
        return self._tasks[task_id]

    def run(self, run_id: int) -> RunState:
        """The run as this unit sees it."""
        if run_id not in self._store.runs:
            raise Defect(f"the task of this report has no run {run_id}", stage="inbox")
        if run_id not in self._runs:
            self._runs[run_id] = from_json(RunState, self._store.runs[run_id])
        return self._runs[run_id]

    def runs_of(self, task_id: int) -> Sequence[int]:
        """The runs of a task."""
        return [run for run, owner in self._store.task_of.items() if owner == task_id]

    def save_task(
        self, task_id: int, state: TaskState, fact: Fact, decisions: Sequence[Decision]
    ) -> None:
        """Remember state, event and decisions until `flush`."""
        self._tasks[task_id] = state
        self._record(task_id, None, fact, decisions)

    def save_run(
        self,
        task_id: int,
        run_id: int,
        state: RunState,
        fact: Fact,
        decisions: Sequence[Decision],
    ) -> None:
        """Remember state, event and decisions until `flush`."""
        self._runs[run_id] = state
        self._record(task_id, run_id, fact, decisions)

    def park(
        self,
        task_id: int,
        run_id: int | None,
        fact: Fact,  # noqa: ARG002 - the port's signature
        error: ReplanError,
    ) -> None:
        """Keep the fact with the error, and tell an operator."""
        assert isinstance(error, Defect)
        self._acts.append(lambda: self._store.events.append((task_id, run_id, "Defect")))
        opened = {"task_id": task_id, "run_id": run_id, "step": None, "kind": "operator"}
        self._acts.append(lambda: self._store.interventions.append({**opened, "open": True}))

    def flush(self) -> None:
        """Write everything."""
        for task_id, task in self._tasks.items():
            self._store.tasks[task_id] = to_json(task)
        for run_id, run in self._runs.items():
            self._store.runs[run_id] = to_json(run)
        for act in self._acts:
            act()

    def _record(
        self, task_id: int, run_id: int | None, fact: Fact, decisions: Sequence[Decision]
    ) -> None:
        kind = type(fact).__name__
        self._acts.append(lambda: self._store.events.append((task_id, run_id, kind)))
        for decision in decisions:
            self._acts.append(lambda d=decision: self._carry_out(task_id, run_id, d))  # type: ignore[misc]

    def _carry_out(  # noqa: C901, PLR0912 - one case a decision
        self, task_id: int, run_id: int | None, decision: Decision
    ) -> None:
        match decision:
            case Enqueue():
                self._store.enqueue(job_of(task_id, run_id, decision))
            case CancelJobs(step):
                self._store.cancel(task_id, run_id, step)
            case CancelAttempt(key):
                self._store.cancel_attempt(key)
            case OpenIntervention():
                place = {"task_id": task_id, "run_id": run_id, "step": decision.step}
                kept = {**place, "kind": decision.kind.value, "open": True}
                self._store.interventions.append(kept)
            case Grant(given):
                self._store.approvals += [(task_id, approval.digest) for approval in given]
            case SettleAttempt():
                assert run_id is not None
                self._store.settle(run_id, decision.step, decision.pass_no, decision.answer)
            case CloseAttempt(step, _, pass_no):
                assert run_id is not None
                self._store.close(run_id, step, pass_no)
            case CloseInterventions(step, sparing, _, kind):
                for opened in self._store.interventions:
                    fits = opened["task_id"] == task_id
                    fits &= kind is None or opened["kind"] == kind.value
                    fits &= run_id is None or opened["run_id"] == run_id
                    fits &= step is None or opened["step"] == step
                    opened["open"] &= not fits or opened["step"] in sparing
            case AddSteps() | FillStep() | DisableHost() | Learn() | FreeJob() | SettleClaims():
                pass  # this store keeps no plans, no hosts, no fixes and no presence
            case KeepLooks() | SetBudget() | EndCheckpoint():
                pass  # and no looks, no checkpoints, and nothing of what agents may spend
            case SettleDelivery():
                assert run_id is not None
                settle_delivery(self._store.deliveries, run_id, decision)
            case StartRuns() | CancelRuns() | ResumeRuns() | TellPolicy() | ReportRun():
                pass  # the coordinator has passed it on as a fact
            case _:
                assert_never(decision)


def _place(job: NewJob) -> tuple[object, ...]:
    return job.task_id, job.run_id, job.step, job.kind
