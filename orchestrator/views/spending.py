"""The model calls of a task and their cost, by role and step."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.views.interventions import InterventionView
from orchestrator.views.places import require_task, runs_at
from orchestrator.views.spending_sums import (
    SpendingLine,
    SpendingSum,
    dollars,
    line_of,
    sum_of,
    sums,
)
from orchestrator.views.values import RefValue
from shared.domain import facts as f
from shared.domain.errors import Rejected
from shared.domain.ids import Ref
from shared.domain.next_step import NextStep
from shared.domain.spending import AGENT, UNUSABLE
from shared.store import model_calls
from shared.store.inbox import Report
from shared.store.tables import RunStepRow

_ASKING = frozenset({"revise", "model"})
"""The stages of a step that ask a model."""


@dataclass(frozen=True, slots=True)
class CallLine:
    """A call to a model; `cost` in dollars, None when nobody knows it.

    A call whose cost is not known counts for `input_cost`, the estimated cost of its question
    alone. `estimated` says that its answer broke off, so that the tokens of it are estimated. A
    call without an end is under way, unless it is `lost`: its worker vanished. `replay_of` is the
    number of the call that this one repeats.
    """

    id: int
    ref: RefValue
    role: str
    purpose: str
    prompt: str
    model: str
    effort: str | None
    input_tokens: int
    cache_read_tokens: int
    cache_written_tokens: int
    output_tokens: int
    cost: float | None
    input_cost: float | None
    estimated: bool
    lost: bool
    seconds: float | None
    stop_reason: str | None
    request_id: str | None
    error: str | None
    reason: str
    replay_of: int | None
    started_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class CallList:
    """The calls of a task, oldest first."""

    ref: RefValue
    calls: tuple[CallLine, ...]


@dataclass(frozen=True, slots=True)
class StepSpending:
    """What a step in a run, or one of the plan, has cost: apart, and together."""

    ref: RefValue
    planners: SpendingSum
    agents: SpendingSum
    together: SpendingSum


@dataclass(frozen=True, slots=True)
class Spending:
    """The sums of a task's calls; `cap` in dollars, None for no cap.

    `cost`, `estimated` and `unknown` are as in `SpendingLine`, of planners and agents together;
    `planners` and `agents` are the two apart, `steps` the same for each step. Of `cost`, agents
    have only `reported` so much themselves: no cap counts that.
    """

    lines: tuple[SpendingLine, ...] = ()
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    estimated: bool = False
    unknown: int = 0
    cap: float | None = None
    planners: SpendingSum = field(default_factory=SpendingSum)
    agents: SpendingSum = field(default_factory=SpendingSum)
    steps: tuple[StepSpending, ...] = ()
    reported: float = 0.0


def spending(connection: Connection, task_id: int) -> Spending:
    """The sums of a task's calls, and of what its agents report where they made none."""
    targets = {place.run_id: place.target for place in runs_at(connection, Ref(task_id))}
    lines = tuple(
        line_of(row, Ref(task_id, step=row.step, target=targets.get(row.run_id)))
        for row in sums(connection, [task_id])
    )
    cap = model_calls.spent(connection, task_id).cap
    whole = sum_of(lines)
    places = dict.fromkeys(line.ref for line in lines if line.ref.step)
    return Spending(
        lines=lines,
        calls=whole.calls,
        tokens=whole.tokens,
        cost=whole.cost,
        estimated=whole.estimated,
        unknown=whole.unknown,
        cap=float(cap) or None,
        planners=sum_of(_of(lines, agents=False)),
        agents=sum_of(_of(lines, agents=True)),
        steps=tuple(
            _step_spending(ref, [line for line in lines if line.ref == ref]) for ref in places
        ),
        reported=dollars(line.cost for line in lines if line.reported_tokens),
    )


def calls_of(connection: Connection, ref: Ref) -> CallList:
    """Every call for a task or one of its steps; raises Rejected when there is no such task."""
    task_id = require_task(connection, ref)
    calls = _lines(connection, task_id)
    chosen = (c for c in calls if ref.step is None or c.ref.step == ref.step)
    return CallList(ref, tuple(chosen))


def call_to_replay(connection: Connection, ref: Ref, number: int | None) -> int:
    """The call of that number, or the newest call with an answer: of the planning, or of a step.

    Raises Rejected when there is no such call.
    """
    made = calls_of(connection, ref).calls
    calls = [c for c in made if c.replay_of is None and c.role != AGENT]
    wanted = [
        call.id
        for call in calls
        if (number is None or call.id == number)
        and (number is not None or ref.step is not None or call.ref.step is None)
        and (number is not None or call.error in {None, UNUSABLE})
    ]
    if wanted:
        return wanted[-1]
    raise Rejected(
        f"{ref} has no model call {f'{number} ' if number else 'with an answer '}to replay",
        stage="input",
        next_step=NextStep.of("plan calls", f"T{ref.task}"),
    )


def facts_to_resume(
    connection: Connection,
    ref: Ref,
    waiting: Iterable[InterventionView],
    *,
    capped: bool,
    by: str,
) -> Sequence[Report]:
    """The facts that resume work that was waiting to ask a model, because `by` wants it.

    A step continues with its revision, so none of its commands runs again; one whose agent could
    not pay continues with its next pass, and a task without runs with its planning. With `capped`,
    only work that waits for a cap; else also work that waits for a key.
    """
    runs = {place.target: place.run_id for place in runs_at(connection, ref.of_task())}
    places = [each.ref for each in waiting if _lacks_answer(each, capped=capped)]
    unpaid = {each.ref for each in waiting if each.unpaid is not None}
    facts: list[Report] = [
        (
            ref.task,
            runs[place.target],
            _allowance(connection, runs[place.target], place.step, by)
            if place in unpaid
            else f.RevisionRequested(place.step),
        )
        for place in places
        if place.step is not None and place.target in runs
    ]
    return facts if len(facts) == len(places) else [*facts, (ref.task, None, f.ResumeRequested())]


def _allowance(connection: Connection, run_id: int, step: int, by: str) -> f.SpendingAllowed:
    table = RunStepRow
    query = select(table.revision, table.pass_no).where(table.run_id == run_id, table.step == step)
    row = connection.execute(query).one()
    return f.SpendingAllowed(step, row.revision, row.pass_no, by)


def _lacks_answer(waits: InterventionView, *, capped: bool) -> bool:
    if waits.kind == InterventionKind.SPENDING:
        return True
    return not capped and waits.kind == InterventionKind.OPERATOR and waits.stage in _ASKING


def _lines(connection: Connection, task_id: int) -> tuple[CallLine, ...]:
    places = runs_at(connection, Ref(task_id))
    targets = {place.run_id: place.target for place in places}
    return tuple(
        _call(row, targets.get(row.run_id)) for row in model_calls.of_task(connection, task_id)
    )


def _call(row: Any, target: str | None) -> CallLine:
    return CallLine(
        id=row.id,
        ref=Ref(row.task_id, step=row.step, target=target),
        role=row.role,
        purpose=row.purpose,
        prompt=row.prompt,
        model=row.model,
        effort=row.effort,
        input_tokens=row.input_tokens,
        cache_read_tokens=row.cache_read_tokens,
        cache_written_tokens=row.cache_written_tokens,
        output_tokens=row.output_tokens,
        cost=None if row.cost is None else float(row.cost),
        input_cost=None if row.input_cost is None else float(row.input_cost),
        estimated=row.estimated,
        lost=row.lost,
        seconds=row.seconds,
        stop_reason=row.stop_reason,
        request_id=row.request_id,
        error=row.error,
        reason=row.reason,
        replay_of=row.replay_of,
        started_at=row.started_at,
        ended_at=row.ended_at,
    )


def _of(lines: Iterable[SpendingLine], *, agents: bool) -> tuple[SpendingLine, ...]:
    return tuple(line for line in lines if (line.role == AGENT) is agents)


def _step_spending(ref: Ref, lines: Sequence[SpendingLine]) -> StepSpending:
    planners, agents = (sum_of(_of(lines, agents=agents)) for agents in (False, True))
    return StepSpending(ref, planners, agents, together=sum_of(lines))
