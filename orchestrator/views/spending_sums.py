"""What models cost for each task: lines of one role and model, and their sums."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.views.values import RefValue
from shared.domain.ids import Ref
from shared.domain.spending import AGENT, SPENDING

_SUMS = text("""
    SELECT task_id, run_id, step, role, model,
           count(*) FILTER (WHERE error IS DISTINCT FROM :cap OR role <> :agent) AS calls,
           sum(input_tokens) AS input_tokens, sum(cache_read_tokens) AS cache_read_tokens,
           sum(cache_written_tokens) AS cache_written_tokens, sum(output_tokens) AS output_tokens,
           0 AS reported_tokens, coalesce(sum(coalesce(cost, input_cost)), 0) AS cost,
           bool_or(estimated OR (cost IS NULL AND coalesce(input_cost, 0) > 0)) AS estimated,
           count(*) FILTER (WHERE cost IS NULL) AS unknown,
           coalesce(sum(seconds), 0) AS seconds, min(id) AS first
    FROM model_calls WHERE task_id = ANY(CAST(:task_ids AS bigint[]))
    GROUP BY task_id, run_id, step, role, model
    ORDER BY first
""")

_REPORTED = text("""
    SELECT runs.task_id, a.run_id, a.step, CAST(:agent AS text) AS role,
           coalesce(a.body ->> 'model', '') AS model, 0 AS calls, 0 AS input_tokens,
           0 AS cache_read_tokens, 0 AS cache_written_tokens, 0 AS output_tokens,
           sum(CAST(a.body ->> 'tokens' AS numeric)) AS reported_tokens,
           coalesce(sum(CAST(a.body ->> 'cost' AS numeric)), 0) AS cost, FALSE AS estimated,
           count(*) FILTER (WHERE a.body ->> 'cost' IS NULL) AS unknown, 0.0 AS seconds
    FROM attempts a JOIN runs ON runs.id = a.run_id
    WHERE runs.task_id = ANY(CAST(:task_ids AS bigint[])) AND a.body IS NOT NULL
      AND CAST(a.body ->> 'tokens' AS numeric) > 0
      AND NOT EXISTS (
          SELECT FROM model_calls c
          WHERE c.attempt_key = a.key AND c.error IS DISTINCT FROM :cap
      )
    GROUP BY runs.task_id, a.run_id, a.step, a.body ->> 'model'
    ORDER BY min(a.id)
""")
"""What runners say of themselves, where no call of theirs went through the gateway."""


@dataclass(frozen=True, slots=True)
class SpendingLine:
    """The calls of one role to one model for one place: the task, or one of its steps.

    `input_tokens` did not come from the cache. `cost`, in dollars, covers the calls whose cost is
    known, and the questions alone of the others, which `unknown` counts. `estimated` says that a
    part of it is an estimate. A line with `reported_tokens` is what agents report themselves whose
    calls did not go through the gateway: it has no calls, and `unknown` counts attempts.
    """

    ref: RefValue
    role: str
    model: str
    calls: int
    input_tokens: int
    cache_read_tokens: int
    cache_written_tokens: int
    output_tokens: int
    cost: float
    estimated: bool
    unknown: int
    seconds: float
    reported_tokens: int = 0

    @property
    def tokens(self) -> int:
        """All tokens."""
        read = self.input_tokens + self.cache_read_tokens + self.cache_written_tokens
        return read + self.output_tokens + self.reported_tokens


@dataclass(frozen=True, slots=True)
class SpendingSum:
    """A sum of lines; `cost`, `estimated` and `unknown` are as in `SpendingLine`."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    estimated: bool = False
    unknown: int = 0


def sums(connection: Connection, task_ids: Sequence[int]) -> Sequence[Any]:
    """The sums of these tasks' calls by place, role and model, the oldest first.

    Behind them is what agents without a call have reported themselves (`reported_tokens`).
    """
    chosen = {"task_ids": list(task_ids), "cap": SPENDING, "agent": AGENT}
    return [
        *connection.execute(_SUMS, chosen).all(),
        *connection.execute(_REPORTED, chosen).all(),
    ]


def spending_of_tasks(connection: Connection, task_ids: Sequence[int]) -> dict[int, SpendingSum]:
    """What each of these tasks has cost; those that asked no model are left out."""
    lines: dict[int, list[SpendingLine]] = {}
    for row in sums(connection, task_ids) if task_ids else ():
        lines.setdefault(row.task_id, []).append(line_of(row, Ref(row.task_id)))
    return {task_id: sum_of(found) for task_id, found in lines.items()}


def line_of(row: Any, ref: Ref) -> SpendingLine:
    """The line of a row of `sums`."""
    return SpendingLine(
        ref=ref,
        role=row.role,
        model=row.model,
        calls=row.calls,
        input_tokens=int(row.input_tokens),
        cache_read_tokens=int(row.cache_read_tokens),
        cache_written_tokens=int(row.cache_written_tokens),
        output_tokens=int(row.output_tokens),
        cost=dollars([float(row.cost)]),
        estimated=row.estimated,
        unknown=row.unknown,
        seconds=float(row.seconds),
        reported_tokens=int(row.reported_tokens),
    )


def sum_of(lines: Iterable[SpendingLine]) -> SpendingSum:
    """The lines together."""
    listed = tuple(lines)
    return SpendingSum(
        calls=sum(line.calls for line in listed),
        tokens=sum(line.tokens for line in listed),
        cost=dollars(line.cost for line in listed),
        estimated=any(line.estimated for line in listed),
        unknown=sum(line.unknown for line in listed),
    )


def dollars(amounts: Iterable[float]) -> float:
    """Their sum, without the noise of binary fractions."""
    return round(sum(amounts), 8)
