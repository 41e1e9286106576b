"""The model calls of a task and their cost, by role and step."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from orchestrator.core.decisions import InterventionKind
from orchestrator.views.interventions import InterventionView
from orchestrator.views.places import require_task, runs_at
from orchestrator.views.values import RefValue
from shared.domain import facts as f
from shared.domain.errors import Rejected
from shared.domain.ids import Ref
from shared.domain.next_step import NextStep
from shared.domain.spending import AGENT, UNUSABLE
from shared.store import model_calls
from shared.store.inbox import Report

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
class SpendingLine:
    """The calls of one role to one model for one place: the task, or one of its steps.

    `input_tokens` did not come from the cache. `cost`, in dollars, covers the calls whose cost is
    known, and the questions alone of the others, which `unknown` counts. `estimated` says that a
    part of it is an estimate.
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


@dataclass(frozen=True, slots=True)
class Spending:
    """The sums of a task's calls; `cap` in dollars, None for no cap.

    `cost`, `estimated` and `unknown` are as in `SpendingLine`.
    """

    lines: tuple[SpendingLine, ...] = ()
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    estimated: bool = False
    unknown: int = 0
    cap: float | None = None


def spending(connection: Connection, task_id: int) -> Spending:
    """The sums of a task's calls."""
    calls = _lines(connection, task_id)
    places: dict[tuple[Ref, str, str], list[CallLine]] = {}
    for call in calls:
        places.setdefault((call.ref, call.role, call.model), []).append(call)
    lines = tuple(_line(*place, made) for place, made in places.items())
    cap = model_calls.spent(connection, task_id).cap
    return Spending(
        lines=lines,
        calls=len(calls),
        tokens=sum(map(_tokens, lines)),
        cost=_dollars(calls),
        estimated=any(line.estimated for line in lines),
        unknown=sum(line.unknown for line in lines),
        cap=float(cap) or None,
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
    connection: Connection, ref: Ref, waiting: Iterable[InterventionView], *, capped: bool
) -> Sequence[Report]:
    """The facts that resume work that was waiting to ask a model.

    A step continues with its revision, so none of its commands runs again; a task without runs
    continues with its planning. With `capped`, only work that waits for a cap; else also work that
    waits for a key.
    """
    runs = {place.target: place.run_id for place in runs_at(connection, ref.of_task())}
    places = [each.ref for each in waiting if _lacks_answer(each, capped=capped)]
    facts: list[Report] = [
        (ref.task, runs[place.target], f.RevisionRequested(place.step))
        for place in places
        if place.step is not None and place.target in runs
    ]
    return facts if len(facts) == len(places) else [*facts, (ref.task, None, f.ResumeRequested())]


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


def _line(ref: Ref, role: str, model: str, calls: Sequence[CallLine]) -> SpendingLine:
    return SpendingLine(
        ref=ref,
        role=role,
        model=model,
        calls=len(calls),
        input_tokens=sum(call.input_tokens for call in calls),
        cache_read_tokens=sum(call.cache_read_tokens for call in calls),
        cache_written_tokens=sum(call.cache_written_tokens for call in calls),
        output_tokens=sum(call.output_tokens for call in calls),
        cost=_dollars(calls),
        estimated=any(call.estimated or (call.cost is None and call.input_cost) for call in calls),
        unknown=sum(call.cost is None for call in calls),
        seconds=sum(call.seconds or 0.0 for call in calls),
    )


def _tokens(line: SpendingLine) -> int:
    read = line.input_tokens + line.cache_read_tokens + line.cache_written_tokens
    return read + line.output_tokens


def _dollars(calls: Iterable[CallLine]) -> float:
    return round(sum(_counted(call) for call in calls), 8)


def _counted(call: CallLine) -> float:
    return (call.input_cost or 0.0) if call.cost is None else call.cost
