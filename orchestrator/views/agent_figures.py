"""Figures about the work of agents (S4.58, S4.60–S4.67); pure."""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from shared.domain.agent import ExecutionMode

K = TypeVar("K")

FEWEST_RUNS = 5
"""A time budget is suggested from so many attempts that succeeded, at least."""

_MINUTE = 60.0
_STEP = 5 * _MINUTE
"""Suggested budgets are multiples of it."""

_QUANTILE = 0.9
_RESERVE = 1.2
"""A budget that nine of ten attempts keep, and a fifth more."""


@dataclass(frozen=True, slots=True)
class AgentRun:
    """One finished attempt of an agent; spans are in seconds.

    `task` is what its plan calls the work, `kind` the kind of its step; attempts with the same
    `place` are tries of the same work. `asked` counts its questions to a person, None where its
    runner does not say it. `stuck` counts what its watchdog found. One that is `undecided` says
    nothing about its runner: it has ended with a question to a person, was cancelled, or nobody
    knows how it ended. The attempt that goes on with it is not another try.
    """

    task: str
    place: str
    runner: str
    kind: str
    mode: ExecutionMode
    asked: int | None
    time_actual: float
    time_budget: float
    compliant: bool
    succeeded: bool
    stuck: int = 0
    undecided: bool = False

    @property
    def is_autonomous(self) -> bool:
        """Whether it was not to ask a person."""
        return self.mode is ExecutionMode.AUTONOMOUS


@dataclass(frozen=True, slots=True)
class BudgetAccuracy:
    """How time budgets fit (S4.61).

    `within` is the share of attempts that kept theirs, `used` the median of actual to planned time.
    """

    within: float
    used: float


@dataclass(frozen=True, slots=True)
class Effectiveness:
    """How often a runner succeeds at one kind of work (S4.63); `rate` is a share."""

    runner: str
    kind: str
    attempts: int
    succeeded: int
    rate: float


@dataclass(frozen=True, slots=True)
class AgentFigures:
    """The figures over some attempts; shares are from 0 to 1, None where there is nothing to count.

    `compliance_rate`: of the tasks that were to ask nobody, those that did not (S4.60).
    `watchdog_triggers` counts how often one was found stuck, `stuck_rate` is the share of tasks
    that ever were (S4.62). `retry_rate` is the share of tasks with more than one attempt (S4.64).
    Neither it, nor `effectiveness`, nor `budget` counts an attempt that is undecided.
    """

    attempts: int
    tasks: int
    compliance_rate: float | None
    budget: BudgetAccuracy | None
    watchdog_triggers: int
    stuck_rate: float | None
    effectiveness: tuple[Effectiveness, ...]
    retry_rate: float | None


@dataclass(frozen=True, slots=True)
class BudgetSuggestion:
    """A time budget that fits what such work took before (S4.58).

    `seconds` holds for work of that kind by that runner; None stands for any. `attempts` is the
    number of those that it was made from.
    """

    seconds: float
    kind: str | None
    runner: str | None
    attempts: int


def metrics_line(run: AgentRun) -> str:
    """The line of `metrics.jsonl` for an attempt (S4.65–S4.67).

    Times are in minutes; `asked_questions` is null where its runner does not say it.
    """
    return json.dumps(
        {
            "task_id": run.task,
            "runner": run.runner,
            "mode": run.mode.value,
            "asked_questions": run.asked,
            "time_actual": _minutes(run.time_actual),
            "time_budget": _minutes(run.time_budget),
            "compliant": run.compliant,
        },
        separators=(",", ":"),
        ensure_ascii=False,
    )


def figures(runs: Iterable[AgentRun]) -> AgentFigures:
    """The figures over these attempts (S4.60–S4.64)."""
    listed = tuple(runs)
    decided = tuple(run for run in listed if not run.undecided)
    tasks = _grouped(listed, lambda run: run.place)
    silent = [
        all(run.asked == 0 for run in tried)
        for tried in tasks.values()
        if all(run.is_autonomous and run.asked is not None for run in tried)
    ]
    return AgentFigures(
        attempts=len(listed),
        tasks=len(tasks),
        compliance_rate=_share(silent),
        budget=_accuracy(decided),
        watchdog_triggers=sum(run.stuck for run in listed),
        stuck_rate=_share([any(run.stuck for run in tried) for tried in tasks.values()]),
        effectiveness=_effectiveness(decided),
        retry_rate=_share(
            [sum(not run.undecided for run in tried) > 1 for tried in tasks.values()]
        ),
    )


def suggest_budget(
    runs: Iterable[AgentRun], *, kind: str | None = None, runner: str | None = None
) -> BudgetSuggestion | None:
    """A time budget from what succeeded before; None with too little history.

    It looks at the same kind of work by the same runner first, then at that kind by anybody, then
    at all that this runner did, then at everything.
    """
    succeeded = [run for run in runs if run.succeeded]
    for same_kind, same_runner in ((kind, runner), (kind, None), (None, runner), (None, None)):
        times = sorted(
            run.time_actual
            for run in succeeded
            if same_kind in {None, run.kind} and same_runner in {None, run.runner}
        )
        if len(times) >= FEWEST_RUNS:
            enough = times[math.ceil(_QUANTILE * len(times)) - 1] * _RESERVE
            seconds = max(1, math.ceil(enough / _STEP)) * _STEP
            return BudgetSuggestion(seconds, same_kind, same_runner, len(times))
    return None


def _accuracy(runs: Sequence[AgentRun]) -> BudgetAccuracy | None:
    # Of no length is one that was not even started.
    ran = [run for run in runs if run.time_budget > 0 and run.time_actual > 0]
    used = sorted(run.time_actual / run.time_budget for run in ran)
    if not used:
        return None
    middle = len(used) // 2
    median = used[middle] if len(used) % 2 else (used[middle - 1] + used[middle]) / 2
    return BudgetAccuracy(sum(each <= 1 for each in used) / len(used), median)


def _effectiveness(runs: Sequence[AgentRun]) -> tuple[Effectiveness, ...]:
    groups = _grouped(runs, lambda run: (run.runner, run.kind))
    return tuple(
        Effectiveness(runner, kind, len(made), won, won / len(made))
        for (runner, kind), made in sorted(groups.items())
        for won in (sum(run.succeeded for run in made),)
    )


def _grouped(runs: Iterable[AgentRun], key: Callable[[AgentRun], K]) -> dict[K, list[AgentRun]]:
    groups: dict[K, list[AgentRun]] = {}
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    return groups


def _share(each: Sequence[bool]) -> float | None:
    return sum(each) / len(each) if each else None


def _minutes(seconds: float) -> float:
    """Minutes, to a tenth; whole ones without a fraction."""
    minutes = round(seconds / _MINUTE, 1)
    return int(minutes) if minutes.is_integer() else minutes
