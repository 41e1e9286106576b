"""Posting the facts of an act, and waiting until a coordinator has read them."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from orchestrator.access import audit
from orchestrator.access.audit import Act
from orchestrator.acts.caller import Caller, Writing
from shared.store import inbox, model_calls
from shared.store.inbox import Report

PATIENCE = 5.0
"""Seconds to wait for a coordinator to read a fact."""

_LOOK_EVERY = 0.05


@dataclass(frozen=True, slots=True)
class CostCap:
    """What models may cost for a task from now on, in dollars; 0 means no cap."""

    task_id: int
    dollars: float


def post(
    caller: Caller,
    act: Act,
    reports: Sequence[Report],
    cap: CostCap | None = None,
    *,
    also: Callable[[Writing], object] | None = None,
) -> bool:
    """Report the facts of an act; returns whether a coordinator read them within `PATIENCE`.

    A `cap` that the act changes is written in the same commit, and what `also` writes.
    """
    with caller.database.begin() as connection:
        if also is not None:
            also(connection)
        if cap is not None:
            model_calls.set_cap(connection, cap.task_id, Decimal(str(cap.dollars)))
        audit.record_sent(connection, caller.actor, act, reports)
        newest = inbox.newest(connection)
    tasks = {task_id for task_id, _, _ in reports}
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with caller.database.begin() as connection:
            if not inbox.pending(connection, tasks, newest):
                return True
        time.sleep(_LOOK_EVERY)
    return False
