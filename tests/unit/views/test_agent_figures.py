"""The figures about agents, and the lines of metrics.jsonl (S4.58, S4.60–S4.67)."""

from dataclasses import replace

import pytest

from orchestrator.views.agent_figures import (
    AgentRun,
    BudgetAccuracy,
    BudgetSuggestion,
    Effectiveness,
    figures,
    metrics_line,
    suggest_budget,
)
from shared.domain.agent import ExecutionMode

DB_SCHEMA = AgentRun(
    task="db-schema",
    place="T1.1.1@app",
    runner="claude-code",
    kind="task",
    mode=ExecutionMode.AUTONOMOUS,
    asked=0,
    time_actual=42 * 60,
    time_budget=45 * 60,
    compliant=True,
    succeeded=True,
)
UI = replace(
    DB_SCHEMA,
    task="ui-component",
    place="T1.2.1@app",
    asked=2,
    time_actual=67 * 60,
    time_budget=60 * 60,
    compliant=False,
    succeeded=False,
)


def test_s4_66_the_line_of_a_good_attempt() -> None:
    assert metrics_line(DB_SCHEMA) == (
        '{"task_id":"db-schema","runner":"claude-code","mode":"autonomous","asked_questions":0,'
        '"time_actual":42,"time_budget":45,"compliant":true}'
    )


def test_s4_67_the_line_of_one_that_asked() -> None:
    assert metrics_line(UI) == (
        '{"task_id":"ui-component","runner":"claude-code","mode":"autonomous","asked_questions":2,'
        '"time_actual":67,"time_budget":60,"compliant":false}'
    )


@pytest.mark.parametrize(
    ("changed", "part"),
    [
        ({"time_actual": 100.0}, '"time_actual":1.7,'),
        ({"asked": None}, '"asked_questions":null,'),
        ({"mode": ExecutionMode.INTERACTIVE}, '"mode":"interactive",'),
        ({"task": 'a "b"\n'}, '"task_id":"a \\"b\\"\\n",'),
    ],
)
def test_s4_65_a_line_is_one_line(changed: dict[str, object], part: str) -> None:
    line = metrics_line(replace(DB_SCHEMA, **changed))  # type: ignore[arg-type]
    assert part in line
    assert "\n" not in line


def test_the_figures_over_nothing() -> None:
    found = figures([])
    assert (found.attempts, found.tasks, found.watchdog_triggers) == (0, 0, 0)
    assert (found.compliance_rate, found.budget) == (None, None)
    assert (found.stuck_rate, found.retry_rate) == (None, None)


def test_s4_60_the_share_of_tasks_that_asked_nobody() -> None:
    """By task, not by attempt; what cannot be judged is left out."""
    assert figures([DB_SCHEMA, UI]).compliance_rate == 0.5
    again = replace(UI, asked=0)
    assert figures([DB_SCHEMA, UI, again]).compliance_rate == 0.5
    silent = replace(DB_SCHEMA, place="x", asked=None)
    free = replace(UI, place="y", mode=ExecutionMode.INTERACTIVE)
    assert figures([DB_SCHEMA, silent, free]).compliance_rate == 1.0
    assert figures([silent, free]).compliance_rate is None


def test_s4_61_how_time_budgets_fit() -> None:
    half = replace(DB_SCHEMA, time_actual=30 * 60, time_budget=60 * 60)
    assert figures([half]).budget == BudgetAccuracy(within=1.0, used=0.5)
    double = replace(half, time_actual=120 * 60)
    assert figures([half, double]).budget == BudgetAccuracy(within=0.5, used=1.25)
    exact = replace(half, time_actual=60 * 60)
    assert figures([half, double, exact]).budget == BudgetAccuracy(within=2 / 3, used=1.0)
    assert figures([replace(half, time_budget=0)]).budget is None


def test_s4_62_how_often_tasks_are_stuck() -> None:
    found = figures([DB_SCHEMA, replace(UI, stuck=2), replace(UI, stuck=1)])
    assert (found.watchdog_triggers, found.stuck_rate) == (3, 0.5)


def test_s4_63_how_often_each_runner_succeeds_at_each_kind_of_work() -> None:
    tests = replace(UI, kind="tests", runner="codex", succeeded=True)
    assert figures([UI, tests, DB_SCHEMA]).effectiveness == (
        Effectiveness("claude-code", "task", attempts=2, succeeded=1, rate=0.5),
        Effectiveness("codex", "tests", attempts=1, succeeded=1, rate=1.0),
    )


def test_s4_64_how_many_tasks_are_redone() -> None:
    assert figures([DB_SCHEMA, UI, UI]).retry_rate == 0.5


def minutes(*spans: float, kind: str = "task", runner: str = "claude-code") -> list[AgentRun]:
    """Attempts that succeeded and took so long."""
    return [replace(DB_SCHEMA, kind=kind, runner=runner, time_actual=each * 60) for each in spans]


@pytest.mark.parametrize(
    ("spans", "suggested"),
    [
        ((10, 10, 10, 10, 10), 15),
        ((1, 1, 1, 1, 1), 5),
        ((0, 0, 0, 0, 0), 5),
        (tuple(range(1, 21)), 25),  # nine of ten took 18 minutes at most
        ((5, 5, 5, 5, 5, 5, 5, 5, 5, 500), 10),  # one that ran away does not count
    ],
)
def test_s4_58_a_time_budget_is_suggested_from_history(
    spans: tuple[float, ...], suggested: float
) -> None:
    found = suggest_budget(minutes(*spans), kind="task", runner="claude-code")
    assert found == BudgetSuggestion(suggested * 60, "task", "claude-code", len(spans))


def test_s4_58_with_little_history_none_is_suggested() -> None:
    assert suggest_budget(minutes(1, 2, 3, 4)) is None
    failed = [replace(run, succeeded=False) for run in minutes(*range(9))]
    assert suggest_budget(failed) is None


@pytest.mark.parametrize(
    ("kind", "runner", "source"),
    [
        ("task", "claude-code", ("task", "claude-code", 5)),
        ("task", "codex", ("task", None, 6)),
        ("tests", "claude-code", (None, "claude-code", 5)),
        ("tests", "aider", (None, None, 6)),
    ],
)
def test_s4_58_the_nearest_history_counts(
    kind: str, runner: str, source: tuple[str | None, str | None, int]
) -> None:
    history = [*minutes(1, 1, 1, 1, 1), *minutes(60, runner="codex")]
    found = suggest_budget(history, kind=kind, runner=runner)
    assert found is not None
    assert (found.kind, found.runner, found.attempts) == source


def test_s4_63_s4_64_a_question_to_a_person_is_neither_a_failure_nor_a_try() -> None:
    """Its answer continues the same work."""
    waits = replace(UI, mode=ExecutionMode.INTERACTIVE, undecided=True)
    found = figures([waits, replace(waits, undecided=False, succeeded=True)])
    assert (found.attempts, found.tasks, found.retry_rate) == (2, 1, 0.0)
    assert found.effectiveness == (Effectiveness("claude-code", "task", 1, 1, 1.0),)


def test_what_is_undecided_says_nothing_about_its_runner() -> None:
    """A person cancelled it, for example; nor does one that was not even started fit a budget."""
    cancelled = replace(UI, place=DB_SCHEMA.place, undecided=True)
    found = figures([cancelled, DB_SCHEMA])
    assert (found.retry_rate, found.effectiveness[0].rate) == (0.0, 1.0)
    assert found.budget == BudgetAccuracy(within=1.0, used=42 / 45)
    assert figures([replace(UI, time_actual=0.0)]).budget is None
