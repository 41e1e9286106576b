"""What people want of tasks that are there: facts, posted like everybody else's."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from orchestrator.access import audit
from orchestrator.access.actor import Actor
from orchestrator.access.audit import Act
from shared.store import inbox, jobs, model_calls
from shared.store.database import Database
from shared.store.inbox import Report

PATIENCE = 5.0
"""Seconds to wait for a coordinator to take a fact up."""

_LOOK_EVERY = 0.05


@dataclass(frozen=True, slots=True)
class CostCap:
    """What models may cost for a task from now on, in dollars; 0 is no cap."""

    task_id: int
    dollars: float


def post(
    database: Database,
    reports: Sequence[Report],
    actor: Actor,
    act: Act,
    cap: CostCap | None = None,
) -> bool:
    """Report the facts of an act; returns whether a coordinator has taken them up in `PATIENCE`.

    A `cap` that the act changes is written with them.
    """
    with database.begin() as connection:
        if cap is not None:
            model_calls.set_cap(connection, cap.task_id, Decimal(str(cap.dollars)))
        audit.record_sent(connection, actor, act, reports)
        newest = inbox.newest(connection)
    tasks = {task_id for task_id, _, _ in reports}
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with database.begin() as connection:
            if not inbox.pending(connection, tasks, newest):
                return True
        time.sleep(_LOOK_EVERY)
    return False


def cancel_attempt(database: Database, key: str, actor: Actor, act: Act) -> bool:
    """Have a running attempt ended; its worker hears of it when this is committed.

    False, and nothing is written, when it does not run or nobody is asked to drive its pass.
    """
    with database.begin() as connection:
        asked = jobs.cancel_attempt(connection, key)
        if asked:
            audit.record(connection, actor, act)
        return asked
