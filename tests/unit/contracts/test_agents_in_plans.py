"""The work of an agent in a plan file: as a person writes it, and what is refused."""

from pathlib import Path

import pytest

from shared.contracts.planfile import dump_subtasks, load_plan, load_revision
from shared.domain.agent import (
    AgentWork,
    Compliance,
    ExecutionMode,
    Progress,
    RunnerChoice,
    StuckStrategy,
    Trigger,
    Watchdog,
)
from shared.domain.config import Policy
from shared.domain.errors import Rejected
from shared.domain.plan import SubtaskKind

SHORT = """
steps:
  - title: Mend the parser
    repository: app
    subtasks:
      - kind: agent
        goal: Make the failing test pass
        check: pytest -q
"""

LONG = """
- kind: agent
  goal: Make the failing test pass
  agent:
    context: [src/parser.py]
    acceptance: [no test is skipped]
    runners:
      - runner: claude-code
        timeout: 45m
      - {runner: codex, trigger: on_timeout}
    execution_mode: autonomous
    time_budget: 1h30m
    cost_budget: 0.05
    allowed_tools: [Edit, Bash(pytest *)]
    watchdog:
      check_interval: 5m
      progress_indicators: [commits]
      escalation_strategy: escalate_to_codex
    validation: {fail_on_ask_user: true}
"""


def test_a_goal_is_enough() -> None:
    (step,) = load_plan(SHORT, policy=Policy()).steps
    (subtask,) = step.subtasks
    assert step.repository == "app"
    assert (subtask.kind, subtask.agent) == (SubtaskKind.AGENT, AgentWork())
    assert (subtask.command, subtask.check) == ("Make the failing test pass", "pytest -q")
    assert subtask.timeout == AgentWork().time_budget


def test_the_example_of_the_documentation_is_a_plan() -> None:
    text = (Path(__file__).parents[3] / "docs" / "agents.md").read_text()
    (step,) = load_plan(text.split("```yaml")[1].split("```")[0], policy=Policy()).steps
    work = step.subtasks[0].agent
    assert work is not None
    assert [choice.runner for choice in work.chain] == ["claude-code", "codex"]


def test_everything_else_can_be_said() -> None:
    """S4.15, S4.21–S4.26, S4.49, S4.50, X10, X15."""
    (subtask,) = load_revision(LONG, policy=Policy())
    assert subtask.agent == AgentWork(
        context=("src/parser.py",),
        acceptance=("no test is skipped",),
        runners=(
            RunnerChoice("claude-code", 1, 2700.0),
            RunnerChoice("codex", 2, None, Trigger.ON_TIMEOUT),
        ),
        mode=ExecutionMode.AUTONOMOUS,
        time_budget=5400.0,
        cost_budget=0.05,
        allowed_tools=("Edit", "Bash(pytest *)"),
        watchdog=Watchdog(
            indicators=frozenset({Progress.COMMITS}), strategy=StuckStrategy.NEXT_RUNNER
        ),
        compliance=Compliance(fail_on_violation=True),
    )
    assert subtask.timeout == 5400.0


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["kind: agent"], "no `goal`"),
        (["kind: agent", "goal: x", "run: 'true'"], "has `run`"),
        (["kind: agent", "goal: x", "timeout: 5m"], "`time_budget`"),
        (["kind: agent", "goal: '  '"], "is empty"),
        (["kind: agent", "goal: log in with ${secret:KEY}"], "names a secret"),
        (["goal: x"], "only `kind: agent`"),
        (["run: 'true'", "agent: {runner: codex}"], "only `kind: agent`"),
        (["kind: agent", "goal: x", "check: x"], "also the goal of an agent"),
        (["kind: agent", "goal: x", "agent: {runner: a, runners: [{runner: b}]}"], "leave one"),
        (["kind: agent", "goal: x", "agent: {time_budget: 2d}"], "not a timeout"),
        (["kind: agent", "goal: x", "agent: {cost_budget: 0}"], "not an amount in dollars"),
        (["kind: agent", "goal: x", "agent: {cost_budget: $5}"], "from 0.00000001 to 100000"),
        (["kind: agent", "goal: x", "agent: {cost_budget: 1.0e-9}"], "not an amount in dollars"),
        (["kind: agent", "goal: x", "agent: {runer: a}"], "did you mean 'runner'"),
        (["kind: agent", "goal: x", "agent: {time_budget: -5m}"], "not a timeout"),
        (["kind: agent", "goal: x", "agent: {time_budget: [1]}"], "not a timeout"),
        (["kind: agent", "goal: x", "agent: codex"], "agent"),
        (["kind: agent", "goal: x", "agent: {runner: [codex]}"], "runner"),
        (["kind: agent", "goal: x", "agent: {runners: {runner: codex}}"], "runners"),
        (["kind: agent", "goal: x", "agent: {context: src/a.py}"], "context"),
        (["kind: agent", "goal: x", "agent: {context: [/etc/passwd]}"], "from its root"),
        (["kind: agent", "goal: x", "agent: {context: [a/../../b]}"], "from its root"),
        (["kind: agent", "goal: [x]"], "goal"),
        (["kind: agent", "goal: x", "agent: {execution_mode: silent}"], "execution_mode"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_line(lines: list[str], told: str) -> None:
    text = "- " + "\n  ".join(lines)
    with pytest.raises(Rejected) as refused:
        load_revision(text, policy=Policy())
    assert told in refused.value.reason


def test_a_command_of_a_step_is_no_goal_of_it() -> None:
    """It would run without the guard's eye."""
    with pytest.raises(Rejected, match="also the goal"):
        load_revision("- {kind: agent, goal: rm -r x}\n- {run: rm -r x}", policy=Policy())


def test_how_a_runner_is_started_comes_back_from_a_plan_file() -> None:
    (subtask,) = load_revision(
        "- kind: agent\n"
        "  goal: g\n"
        "  agent:\n"
        "    runners:\n"
        "      - {runner: command, command: 'mend {task_file}', protocol: '', alias: mender}\n",
        policy=Policy(),
    )
    assert subtask.agent is not None
    assert subtask.agent.chain == (
        RunnerChoice("command", 1, command="mend {task_file}", protocol="", alias="mender"),
    )
    assert subtask.agent.chain[0].name == "mender"
    assert load_revision(dump_subtasks((subtask,)), policy=Policy()) == (subtask,)
