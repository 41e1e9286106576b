"""The coordinator: reads reports, lets the core decide, has it written in one commit."""

from collections import deque
from collections.abc import Sequence
from typing import Any, assert_never

import structlog

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
from orchestrator.core.machine import advance
from orchestrator.ports import Ledger, Unit
from shared.domain.errors import Defect
from shared.domain.facts import (
    CancelRequested,
    PolicyChanged,
    ResumeRequested,
    RunChanged,
    RunFact,
    RunStarted,
    TaskFact,
)
from shared.store.inbox import Report

log = structlog.get_logger()

BATCH = 64
"""At most so many tasks are changed by one commit."""


class Coordinator:
    """Folds reports into states. Several may run at once; each locks the tasks that it takes."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def drain(self) -> int:
        """Fold in everything reported so far; returns how many reports that was."""
        total = 0
        while True:
            reports = self._drain_once()
            total += len(reports)
            if len({task_id for task_id, _, _ in reports}) < BATCH:
                return total

    def _drain_once(self) -> Sequence[Report]:
        with self._ledger.open(BATCH) as unit:
            for position, report in enumerate(unit.reports):
                unit.turn_to(position)
                _fold(unit, report)
            return unit.reports


def _fold(unit: Unit, report: Report) -> None:
    """Fold in one report and what follows at once: a task starts its runs, a run tells its task."""
    following = deque([report])
    while following:
        task_id, run_id, fact = following.popleft()
        try:
            if run_id is None:
                following.extend(_fold_task(unit, task_id, fact))  # type: ignore[arg-type]
            else:
                following.extend(_fold_run(unit, task_id, run_id, fact))  # type: ignore[arg-type]
        except Defect as error:
            log.exception("fact_parked", task_id=task_id, run_id=run_id)
            unit.park(task_id, run_id, fact, error)


def _fold_task(unit: Unit, task_id: int, fact: TaskFact) -> list[Report]:
    before = unit.task(task_id)
    after, decisions = _decide(before, fact)
    if after is before and not decisions:
        return []
    unit.save_task(task_id, after, fact, decisions)
    told = [told for decision in decisions if (told := _fact_for_runs(decision)) is not None]
    run_ids = unit.runs_of(task_id) if told else ()
    return [(task_id, run_id, fact) for fact in told for run_id in run_ids]


def _fold_run(unit: Unit, task_id: int, run_id: int, fact: RunFact) -> list[Report]:
    before = unit.run(run_id)
    after, decisions = _decide(before, fact)
    if after is before and not decisions:
        return []
    unit.save_run(task_id, run_id, after, fact, decisions)
    return [
        (task_id, None, RunChanged(run_id, decision.phase))
        for decision in decisions
        if isinstance(decision, ReportRun)
    ]


def _decide(before: Any, fact: Any) -> tuple[Any, tuple[Decision, ...]]:
    """Let the core decide. An error in it is a defect, and stops no other task."""
    try:
        return advance(before, fact)
    except Defect:
        raise
    except Exception as error:
        raise Defect(
            f"{type(error).__name__}: {error}", stage="advance", story=(repr(before), repr(fact))
        ) from error


def _fact_for_runs(decision: Decision) -> RunFact | None:
    """The fact that a decision tells every run; None if the outbox carries the decision out."""
    match decision:
        case StartRuns(policy, plan):
            return RunStarted(policy, plan)
        case CancelRuns():
            return CancelRequested()
        case ResumeRuns():
            return ResumeRequested()
        case TellPolicy(changes):
            return PolicyChanged(changes)
        case ReportRun():
            raise Defect("a task reports no run", stage="advance")
        case (
            Enqueue()
            | CancelJobs()
            | CancelAttempt()
            | OpenIntervention()
            | CloseInterventions()
            | SettleAttempt()
            | SettleClaims()
            | SettleDelivery()
            | EndCheckpoint()
            | SetBudget()
            | CloseAttempt()
            | FreeJob()
            | Grant()
            | AddSteps()
            | FillStep()
            | DisableHost()
            | Learn()
            | KeepLooks()
        ):
            return None
        case _:
            assert_never(decision)
