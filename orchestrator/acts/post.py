"""Posting the facts of an act, and waiting until a coordinator has read them."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from orchestrator.access import audit
from orchestrator.access.audit import Act
from orchestrator.acts.caller import Caller, Writing
from orchestrator.acts.typed_secrets import typed_text
from shared.domain.facts import StepRevised
from shared.domain.secret import named_anywhere
from shared.store import inbox, model_calls, secret_grants
from shared.store.inbox import Report
from shared.wire import to_json

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

    Their texts are masked first (`typed_secrets`), and the caller is told of what was found.
    A secret that they name is given to the task: a person has named it. A `cap` that the act
    changes is written in the same commit, and what `also` writes.
    """
    typed = typed_text(caller)
    reports = [(task, run, typed.masked(fact)) for task, run, fact in reports]
    caller.remarks.extend(typed.notes)
    with caller.database.begin() as connection:
        if also is not None:
            also(connection)
        for task, _, fact in reports:
            names = named_anywhere(str(to_json(fact)))
            step = fact.step if isinstance(fact, StepRevised) else None
            secret_grants.give(connection, task, names, by=caller.actor.name, step=step)
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
