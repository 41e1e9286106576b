"""Carries out decisions: writes their rows in the same commit as the state."""

from collections.abc import Sequence
from typing import assert_never

from sqlalchemy import Connection, insert, text

from orchestrator import learning, losses
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
from orchestrator.rows import CLOSE_INTERVENTIONS, intervention_values, job_of
from shared.domain.approval import SubtaskPlace
from shared.domain.errors import Defect
from shared.domain.records import SettledClaim
from shared.store import (
    approvals,
    attempts,
    budgets,
    claims,
    deliveries,
    hosts,
    jobs,
    looks,
)
from shared.store.recordset import as_rows
from shared.store.storable_json import storable_json
from shared.store.tables import InterventionRow
from shared.wire import to_json

Order = tuple[int, int | None, Decision]
"""A decision with its task, and its run unless the task itself decided."""

_ADD_STEPS = text("UPDATE runs SET added = added || CAST(:steps AS jsonb) WHERE id = :run_id")


_FILL_STEP = text(
    "UPDATE runs SET detailed = detailed || CAST(:filled AS jsonb) WHERE id = :run_id"
)


def carry_out(connection: Connection, orders: Sequence[Order], intervened: set[int]) -> None:
    """Write the decisions in their order: a step's old job is withdrawn before the next is added.

    `intervened` are the tasks that may have an open intervention.
    """
    enqueued: list[jobs.NewJob] = []
    for task_id, run_id, decision in orders:
        if isinstance(decision, Enqueue):
            enqueued.append(job_of(task_id, run_id, decision))
            continue
        if isinstance(decision, CancelJobs):
            jobs.enqueue(connection, enqueued)
            enqueued = []
        if isinstance(decision, OpenIntervention):
            intervened.add(task_id)
        if isinstance(decision, CloseInterventions) and task_id not in intervened:
            continue
        _write(connection, task_id, run_id, decision)
    jobs.enqueue(connection, enqueued)


def _write(  # noqa: C901, PLR0912 - one case a decision
    connection: Connection, task_id: int, run_id: int | None, decision: Decision
) -> None:
    match decision:
        case Enqueue():
            jobs.enqueue(connection, [job_of(task_id, run_id, decision)])
        case KeepLooks(kind, step, revision, pass_no, number, asked):
            place = (task_id, run_id, step, kind, number)
            looks.keep(connection, *place, asked, revision=revision, pass_no=pass_no)
        case CancelJobs(step):
            jobs.cancel(connection, task_id, run_id, step)
        case CancelAttempt(key):
            jobs.cancel_attempt(connection, key)
        case OpenIntervention():
            values = intervention_values(task_id, run_id, decision)
            connection.execute(insert(InterventionRow).values(values))
        case CloseInterventions(step, sparing, intervention, kind):
            chosen = {"task_id": task_id, "run_id": run_id, "step": step, "sparing": list(sparing)}
            only = {"intervention": intervention, "kind": None if kind is None else kind.value}
            connection.execute(CLOSE_INTERVENTIONS, {**chosen, **only})
        case SettleDelivery():
            deliveries.settle(
                connection,
                _of_run(run_id, decision),
                decision.step,
                decision.status,
                sha256=decision.delivery,
                rejection=decision.rejection,
                reason=decision.reason,
                commit=decision.commit,
                settled_by=decision.settled_by,
            )
        case EndCheckpoint(number, reason):
            deliveries.end_checkpoint(connection, _of_run(run_id, decision), number, reason)
        case AddSteps(steps):
            added = {"run_id": _of_run(run_id, decision), "steps": as_rows(map(to_json, steps))}
            connection.execute(_ADD_STEPS, added)
        case FillStep(step, subtasks, author):
            filled = {str(step): {"subtasks": to_json(subtasks), "author": to_json(author)}}
            given = {"run_id": _of_run(run_id, decision), "filled": storable_json(filled)}
            connection.execute(_FILL_STEP, given)
        case DisableHost(host, reason):
            hosts.distrust(connection, host, reason)
        case Grant(given):
            approvals.grant(connection, task_id, given)
        case Learn():
            learning.learn(connection, _of_run(run_id, decision), decision)
        case SettleAttempt(step, _, pass_no, answer):
            attempts.settle(connection, _of_run(run_id, decision), step, pass_no, answer)
        case SettleClaims(step, pass_no, tokens, said):
            settled = [SettledClaim(token, pass_no, said) for token in tokens]
            claims.settle(connection, _of_run(run_id, decision), step, settled)
        case SetBudget(step, revision, subtask, dollars):
            at = SubtaskPlace(step, revision, subtask)
            budgets.raise_to(connection, _of_run(run_id, decision), at, dollars)
        case CloseAttempt(step, _, pass_no):
            attempts.close(connection, _of_run(run_id, decision), step, pass_no)
        case FreeJob(kind, step):
            losses.free(connection, task_id, run_id, step, kind)
        case StartRuns() | CancelRuns() | ResumeRuns() | TellPolicy() | ReportRun():
            pass  # the coordinator has passed it on as a fact
        case _:
            assert_never(decision)


def _of_run(run_id: int | None, decision: Decision) -> int:
    """The run that a decision is about; raises Defect where a task decided it."""
    if run_id is None:
        raise Defect(f"{type(decision).__name__} is decided by runs alone", stage="advance")
    return run_id
