"""What the agents of attempts did and cost, in a few statements for any number of attempts."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.views.values import RefValue
from shared.domain.attempt import AgentStatus, EndedBy
from shared.domain.ids import Ref
from shared.domain.outcome import Outcome
from shared.store import model_calls
from shared.store.attempts import RUNNING
from shared.store.model_calls import AttemptSpending

MOST_SHOWN = 20
"""How many attempts of agents a task shows, the newest ones."""

_OF_TASK = text("""
    SELECT a.key, a.step, a.subtask, a.number, a.outcome, a.ended_by, a.started_at, a.ended_at,
           a.body - 'summary' - 'changed_files' - 'workspace' AS body,
           jsonb_array_length(a.body -> 'changed_files') AS files, runs.task_id, runs.target
    FROM attempts a JOIN runs ON runs.id = a.run_id
    WHERE runs.task_id = :task_id AND runs.target = coalesce(:target, runs.target)
      AND a.body IS NOT NULL
    ORDER BY a.id DESC LIMIT :limit
""")

_NEWEST_OF_STEPS = text("""
    SELECT a.key, a.step, a.subtask, a.number, a.outcome, a.ended_by, a.started_at, a.ended_at,
           a.body - 'summary' - 'changed_files' - 'workspace' AS body,
           jsonb_array_length(a.body -> 'changed_files') AS files, runs.task_id, runs.target,
           a.run_id
    FROM unnest(CAST(:run_ids AS bigint[]), CAST(:steps AS bigint[])) AS place (run_id, step)
    JOIN runs ON runs.id = place.run_id
    JOIN LATERAL (
        SELECT * FROM attempts
        WHERE attempts.run_id = place.run_id AND attempts.step = place.step AND NOT attempts.look
        ORDER BY attempts.id DESC LIMIT 1
    ) a ON a.body IS NOT NULL
""")


class CostSource(StrEnum):
    """Who counted tokens and cost."""

    LEDGER = "ledger"  # the gateway, call by call
    RUNNER = "runner"  # the runner itself: nothing went through the gateway


@dataclass(frozen=True, slots=True)
class AgentLine:
    """What the agent of an attempt is, did and cost.

    While it runs, only its `calls`, `tokens` and `cost` are known. `cost` is in US dollars, None
    where nobody knows it; `estimated` says that a part of it is an estimate. They are those of the
    gateway's ledger, or, without a call there, what the runner itself reports. `changed_files`
    counts files; `attempt show` names them. `session` is the handle to resume it, `tree` what it
    left behind. `stuck` counts how often it was found without progress.
    """

    runner: str
    version: str
    model: str
    status: AgentStatus | None
    calls: int
    tokens: int
    cost: float | None
    estimated: bool
    source: CostSource
    changed_files: int
    session: str | None
    tree: str | None
    stuck: int


@dataclass(frozen=True, slots=True)
class AgentAttempt:
    """An attempt of an agent that has ended; `ended_by` says who ended it, if it did not itself."""

    ref: RefValue
    outcome: Outcome
    seconds: float
    ended_by: EndedBy | None
    agent: AgentLine


def spent_by(connection: Connection, rows: Iterable[Any]) -> Mapping[str, AttemptSpending]:
    """What the gateway has counted for those of these attempts that may be an agent's, by key."""
    keys = [row.key for row in rows if row.body is not None or row.outcome == RUNNING]
    return model_calls.spent_by_attempts(connection, keys) if keys else {}


def agent_line(row: Any, spent: Mapping[str, AttemptSpending]) -> AgentLine | None:
    """What the agent of the attempt in a row did; None for a command.

    The row has the `body` of the attempt, or a part of it with the number of changed `files`.
    """
    counted = spent.get(row.key)
    if counted is not None and not counted.calls:
        counted = None
    if row.body is None and counted is None:
        return None
    body: dict[str, Any] = row.body or {}
    known, status, files = counted is not None, body.get("status"), body.get("changed_files")
    return AgentLine(
        runner=body.get("runner", ""),
        version=body.get("version", ""),
        model=body.get("model", ""),
        status=None if status is None else AgentStatus(status),
        calls=counted.calls if counted else 0,
        tokens=counted.tokens if counted else body.get("tokens", 0),
        cost=float(counted.cost) if counted else _dollars(body),
        estimated=counted.estimated if counted else False,
        source=CostSource.LEDGER if known else CostSource.RUNNER,
        changed_files=len(files) if files is not None else getattr(row, "files", None) or 0,
        session=body.get("session"),
        tree=body.get("tree"),
        stuck=body.get("stuck", 0),
    )


def agents_of_task(
    connection: Connection, task_id: int, target: str | None = None, *, limit: int = MOST_SHOWN
) -> tuple[AgentAttempt, ...]:
    """The newest attempts of agents of a task that have ended, oldest first."""
    chosen = {"task_id": task_id, "target": target, "limit": limit}
    rows = connection.execute(_OF_TASK, chosen).all()
    return tuple(_attempts(connection, rows))[::-1]


def newest_of_steps(
    connection: Connection, places: Collection[tuple[int, int]]
) -> Mapping[tuple[int, int], AgentAttempt]:
    """The newest attempt of each of these steps in runs, where an agent made it."""
    if not places:
        return {}
    run_ids, steps = zip(*places, strict=True)
    rows = connection.execute(
        _NEWEST_OF_STEPS, {"run_ids": list(run_ids), "steps": list(steps)}
    ).all()
    attempts = _attempts(connection, rows)
    return {(row.run_id, row.step): each for row, each in zip(rows, attempts, strict=True)}


def _attempts(connection: Connection, rows: Sequence[Any]) -> Iterable[AgentAttempt]:
    spent = spent_by(connection, rows)
    for row in rows:
        line = agent_line(row, spent)
        if line is not None:
            yield AgentAttempt(
                Ref(row.task_id, row.step, row.subtask, row.number, target=row.target),
                Outcome(row.outcome),
                (row.ended_at - row.started_at).total_seconds(),
                None if row.ended_by is None else EndedBy(row.ended_by),
                line,
            )


def _dollars(body: Mapping[str, Any]) -> float | None:
    cost = body.get("cost", 0)
    return None if cost is None else float(cost)
