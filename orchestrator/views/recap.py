"""What came of a task on each of its targets, in numbers."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.views.tasks import RunView, TaskView
from shared.domain.outcome import COUNTED, GREEN, Outcome
from shared.domain.prediction import Prediction
from shared.domain.task import ENDED_RUN, StepPhase

_LATEST = text("""
    SELECT DISTINCT ON (a.run_id, a.step, a.subtask)
        a.run_id, a.outcome, a.prediction, bool_or(a.outcome = 'ok') OVER subtask AS ran,
        bool_or(a.outcome = 'ok' AND a.check_exit_code IS NOT NULL AND NOT a.never_red)
            OVER subtask AS changed
    FROM attempts a
    JOIN run_steps s ON s.run_id = a.run_id AND s.step = a.step AND s.revision = a.revision
    WHERE a.run_id = ANY(CAST(:runs AS bigint[])) AND NOT a.look AND NOT a.rollback
      AND s.phase <> 'replaced'
    WINDOW subtask AS (PARTITION BY a.run_id, a.step, a.subtask)
    ORDER BY a.run_id, a.step, a.subtask, a.id DESC
""")


class Came(StrEnum):
    """What can come of a subtask; the second and the third are part of the first."""

    OK = "ok"
    CHANGED = "changed"  # its check was red before, and green after
    UNCHANGED = "unchanged"  # its check was green at once
    FAILED = "failed"
    SKIPPED = "skipped"
    WAITING = "waiting"  # for a person
    WOULD_RUN = "would run"
    WOULD_ASK = "would ask"
    DENIED = "forbidden"
    NOT_KNOWN = "not known"
    TO_COME = "to come"


_PREDICTED = {
    Prediction.SATISFIED: (Came.UNCHANGED,),
    Prediction.WOULD_RUN: (Came.WOULD_RUN,),
    Prediction.NEEDS_APPROVAL: (Came.WOULD_ASK,),
    Prediction.DENIED: (Came.DENIED,),
    Prediction.PRECONDITION_UNMET: (Came.FAILED,),
    Prediction.UNKNOWN: (Came.NOT_KNOWN,),
}
_WAITING = frozenset({Outcome.NEEDS_APPROVAL, Outcome.NEEDS_INPUT, Outcome.OVER_BUDGET})
_FAILED = frozenset({*COUNTED, Outcome.DENIED, Outcome.UNKNOWN})


@dataclass(frozen=True, slots=True)
class TargetRecap:
    """How many subtasks of a target came to what; those that are not named are none."""

    target: str
    counts: Mapping[Came, int]


def recap(connection: Connection, task: TaskView) -> tuple[TargetRecap, ...]:
    """What came of a task on each target, by the latest attempt of each subtask."""
    runs = {run.run_id: run for run in task.runs}
    counts: dict[int, Counter[Came]] = defaultdict(Counter)
    tried: Counter[int] = Counter()
    for row in connection.execute(_LATEST, {"runs": list(runs)}):
        tried[row.run_id] += 1
        counts[row.run_id].update(_came(row))
    for run_id, run in runs.items():
        left = _planned(run) - tried[run_id]
        word = Came.SKIPPED if run.phase in ENDED_RUN else Came.TO_COME
        counts[run_id][word] += max(0, left)
    return tuple(TargetRecap(run.target, dict(counts[run_id])) for run_id, run in runs.items())


def _planned(run: RunView) -> int:
    return sum(step.subtasks for step in run.steps if step.phase is not StepPhase.REPLACED)


def _came(row: Any) -> tuple[Came, ...]:
    if row.prediction is not None:
        return _PREDICTED[Prediction(row.prediction)]
    if row.outcome in GREEN:  # a later pass finds what an earlier one has changed
        how = Came.CHANGED if row.changed else None if row.ran else Came.UNCHANGED
        return (Came.OK,) if how is None else (Came.OK, how)
    if row.outcome in _WAITING:
        return (Came.WAITING,)
    return (Came.FAILED,) if row.outcome in _FAILED else (Came.SKIPPED,)
