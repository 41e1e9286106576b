"""Files of tasks for agents, as S4 writes them (S4.12–S4.26, S4.49–S4.50, S4.59)."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from shared.contracts.agent_tasks import AgentTasks, load_tasks
from shared.contracts.planfile import dump_plan, load_plan
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
from shared.domain.next_step import command_line
from shared.domain.plan import Recovery, SubtaskKind, check_steps

FILES = {
    "framework/tasks/db-schema.md": "# Create the schema\n\nTables for users.\n",
    "ui.md": "Build the page.\n",
    "api.md": "Serve it.\n",
    "claude-code/01-autonomous-mode-protocol.md": "You have {TIME_BUDGET} minutes.\n",
    "empty.md": "  \n",
    "secret.md": "Use ${secret:KEY}.\n",
    "long.md": "x" * 100_001,
}

# Level 1 of the seed, letter by letter.
SEED = """
{
  "runners": {
    "claude-code": {
      "type": "claude-code",
      "command": "claude-code",
      "autonomous_mode": {
        "enabled": true,
        "prepend_protocol": true,
        "protocol_file": "claude-code/01-autonomous-mode-protocol.md"
      }
    },
    "codex": {
      "type": "codex",
      "command": "codex --mode agent"
    }
  },
  "tasks": [
    {
      "id": "db-schema",
      "file": "framework/tasks/db-schema.md",
      "runner": "claude-code",
      "execution_mode": "autonomous",
      "time_budget": 45,
      "depends_on": []
    }
  ]
}
"""


def load(text: str, files: Mapping[str, str] = FILES) -> AgentTasks:
    """The plan of a text whose files are these."""

    def read(name: str) -> str:
        if name not in files:
            raise Rejected(f"{name} cannot be read: no such file", stage="input")
        return files[name]

    return load_tasks(text, read=read, source="tasks.yaml")


def work(text: str) -> AgentWork:
    """The work of the first task."""
    found = load(text).plan.steps[0].subtasks[0].agent
    assert found is not None
    return found


def test_the_seed_s_own_file_is_read_as_it_is_written() -> None:
    """S4.12–S4.15, S4.18."""
    loaded = load(SEED)
    (step,) = loaded.plan.steps
    (subtask,) = step.subtasks
    assert (step.key, step.title, step.depends_on) == ("db-schema", "Create the schema", ())
    assert step.recovery is Recovery.RETRY
    assert (subtask.key, subtask.kind) == ("db-schema", SubtaskKind.AGENT)
    assert subtask.command == FILES["framework/tasks/db-schema.md"]
    assert subtask.timeout == 45 * 60
    assert subtask.agent == AgentWork(
        runners=(RunnerChoice("claude-code", 1, protocol="You have {TIME_BUDGET} minutes.\n"),),
        mode=ExecutionMode.AUTONOMOUS,
        time_budget=45 * 60,
    )
    check_steps(loaded.plan.steps)


def test_a_task_may_have_a_budget_in_dollars() -> None:
    assert work("tasks: [{id: a, file: ui.md, cost_budget: 0.5}]").cost_budget == 0.5
    assert work("tasks: [{id: a, file: ui.md}]").cost_budget is None


def test_options_that_the_real_program_does_not_know_are_dropped_and_told() -> None:
    assert load(SEED).notes == (
        "runners.codex.command: replan starts codex with options of its own, without "
        "`--mode agent`",
    )


def test_s4_59_an_old_file_still_works() -> None:
    old = "tasks: [{id: ui, file: ui.md, runner: claude-code}]"
    assert work(old) == AgentWork(runners=(RunnerChoice("claude-code", 1),))
    assert load(old).notes == ()


def test_s4_59_every_field_but_id_and_file_is_optional() -> None:
    assert work("tasks: [{id: ui, file: ui.md}]") == AgentWork()


@pytest.mark.parametrize(
    ("mode", "protocol"),
    [
        ("{}", ""),
        ("{enabled: true}", ""),
        ("{prepend_protocol: true}", ""),
        ("{enabled: true, prepend_protocol: false, protocol_file: ui.md}", ""),
        ("{enabled: true, prepend_protocol: true}", None),
        ("{enabled: true, prepend_protocol: true, protocol_file: ui.md}", "Build the page.\n"),
    ],
)
def test_s4_16_the_protocol_is_given_only_where_both_are_set(
    mode: str, protocol: str | None
) -> None:
    runners = f"runners: {{codex: {{autonomous_mode: {mode}}}}}"
    text = f"{runners}\ntasks: [{{id: a, file: ui.md, runner: codex}}]"
    assert work(text).chain[0].protocol == protocol


def test_a_protocol_that_is_not_used_is_told() -> None:
    text = (
        "runners: {codex: {autonomous_mode: {protocol_file: ui.md}}}\ntasks: [{id: a, file: ui.md}]"
    )
    (note,) = load(text).notes
    assert note.startswith("runners.codex.autonomous_mode: its protocol_file is not used")


@pytest.mark.parametrize(
    ("definition", "runner", "command", "alias"),
    [
        ("{type: claude-code, command: claude-code}", "claude-code", None, "mine"),
        ("{type: codex, command: /opt/codex}", "codex", "/opt/codex", "mine"),
        ("{type: codex}", "codex", None, "mine"),
        ("{type: acp, command: opencode acp --pure}", "acp", "opencode acp --pure", "mine"),
        ("{command: my-agent --fast}", "command", "my-agent --fast", "mine"),
        ("{type: command, command: 'a {task_file}'}", "command", "a {task_file}", "mine"),
    ],
)
def test_s4_12_how_a_runner_is_started(
    definition: str, runner: str, command: str | None, alias: str | None
) -> None:
    text = f"runners: {{mine: {definition}}}\ntasks: [{{id: a, file: ui.md, runner: mine}}]"
    (choice,) = work(text).chain
    assert (choice.runner, choice.command, choice.alias) == (runner, command, alias)
    assert choice.protocol == ""  # S4.14


FULL = """
tasks:
  - id: db-schema
    file: framework/tasks/db-schema.md
    execution_mode: autonomous
    runner_strategy: fallback
    runners:
      - {type: claude-code, priority: 1, timeout: 45}
      - {type: codex, priority: 2, trigger: on_timeout}
    watchdog:
      enabled: true
      check_interval: 300
      progress_indicators: [files_changed, commits]
      escalation_strategy: escalate_to_codex
    validation:
      check_autonomous_compliance: true
      fail_on_ask_user: true
"""


def test_s4_21_to_s4_26_s4_49_s4_50_everything_can_be_said() -> None:
    assert work(FULL) == AgentWork(
        runners=(
            RunnerChoice("claude-code", 1, timeout=45 * 60),
            RunnerChoice("codex", 2, trigger=Trigger.ON_TIMEOUT),
        ),
        mode=ExecutionMode.AUTONOMOUS,
        time_budget=3600,
        watchdog=Watchdog(
            enabled=True,
            check_interval=300,
            indicators=frozenset({Progress.FILES_CHANGED, Progress.COMMITS}),
            strategy=StuckStrategy.NEXT_RUNNER,  # X15
        ),
        compliance=Compliance(check=True, fail_on_violation=True),
    )


@pytest.mark.parametrize("key", ["fail_on_ask_user", "fail_on_violation"])
def test_x10_both_words_mean_the_same(key: str) -> None:
    text = f"tasks: [{{id: a, file: ui.md, validation: {{{key}: true}}}}]"
    assert work(text).compliance.fail_on_violation


def test_s4_2_dependencies_are_those_that_are_named() -> None:
    """A task that names none begins at once, other than a step of a plan."""
    steps = load(
        "tasks:\n"
        "- {id: ui, file: ui.md, depends_on: [api, db, api]}\n"
        "- {id: db, file: ui.md}\n"
        "- {id: api, file: api.md}\n"
    ).plan.steps
    assert [step.depends_on for step in steps] == [(2, 3), (), ()]


def test_yaml_and_json_are_read_alike_with_tabs_or_without() -> None:
    text = json.dumps(json.loads(SEED), indent="\t")
    assert load(text) == load(SEED)


def test_the_plan_can_be_shown_as_a_plan_file_and_read_again() -> None:
    plan = load(FULL).plan
    assert load_plan(dump_plan(plan), policy=Policy()).steps == plan.steps


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", ["empty"]),
        ("tasks: []", ["line 1: tasks: has to have at least 1"]),
        ("runners: {}", ["line 1: tasks: is missing"]),
        ("tasks: [{id: a}]", ["line 1: tasks[0].file: is missing"]),
        ("tasks: [{file: ui.md}]", ["line 1: tasks[0].id: is missing"]),
        (
            "tasks:\n- id: a\n  file: ui.md\n  time_bugdet: 5\n",
            ["line 4: tasks[0].time_bugdet: unknown; did you mean 'time_budget'?", "depends_on"],
        ),
        (
            "tasks:\n- {id: a, file: ui.md}\n- {id: a, file: api.md}\n",
            ["line 3: tasks[1].id: 'a' is the id of two tasks"],
        ),
        (
            "tasks:\n- {id: a, file: ui.md, depends_on: [b]}\n- {id: bb, file: api.md}\n",
            ["line 2: tasks[0].depends_on[0]: 'b' is unknown; did you mean 'bb'? allowed: a, bb"],
        ),
        (
            "tasks:\n- {id: a, file: ui.md}\n- {id: b, file: ui.md, depends_on: [c]}\n"
            "- {id: c, file: ui.md, depends_on: [b]}\n",
            ["line 3: tasks[1].depends_on: tasks need one another in a circle: 'b', 'c'"],
        ),
        (
            "tasks: [{id: a, file: ui.md, depends_on: [a]}]",
            ["tasks[0].depends_on: tasks need one another in a circle: 'a'"],
        ),
        (
            "tasks: [{id: a, file: ui.md, runner: claude}]",
            [
                "line 1: tasks[0].runner: 'claude' is unknown; did you mean 'claude-code'?",
                "allowed: acp, claude-code, codex, command",
            ],
        ),
        (
            "runners: {mine: {command: x}}\ntasks: [{id: a, file: ui.md, runners: [{type: mina}]}]",
            ["tasks[0].runners[0].type: 'mina' is unknown; did you mean 'mine'?"],
        ),
        (
            "tasks: [{id: a, file: gone.md}]",
            ["line 1: tasks[0].file: gone.md cannot be read: no such file"],
        ),
        ("tasks: [{id: a, file: empty.md}]", ["tasks[0].file: empty.md is empty"]),
        ("tasks: [{id: a, file: secret.md}]", ["tasks[0].file: secret.md names a secret"]),
        ("tasks: [{id: a, file: long.md}]", ["long.md is longer than 100000 characters"]),
        (
            "runners:\n  codex:\n    autonomous_mode:\n      enabled: true\n"
            "      prepend_protocol: true\n      protocol_file: gone.md\n"
            "tasks: [{id: a, file: ui.md}]",
            ["line 6: runners.codex.autonomous_mode.protocol_file: gone.md cannot be read"],
        ),
        (
            "runners: {x: {}}\ntasks: [{id: a, file: ui.md}]",
            ["line 1: runners.x: has no `command` that starts it, and no `type`"],
        ),
        (
            "runners: {x: {type: kodex}}\ntasks: [{id: a, file: ui.md}]",
            ["runners.x.type: 'kodex' is unknown; did you mean 'codex'?"],
        ),
        (
            'runners: {x: {command: "a \'b"}}\ntasks: [{id: a, file: ui.md}]',
            ["runners.x.command: ", "is not a command"],
        ),
        (
            "tasks: [{id: a, file: ui.md, execution_mode: auto}]",
            ["'auto' is not known; allowed: 'autonomous' or 'interactive'"],
        ),
        (
            "tasks: [{id: a, file: ui.md, time_budget: 45m}]",
            ["tasks[0].time_budget: '45m' is not a number of minutes", "at most 1440"],
        ),
        ("tasks: [{id: a, file: ui.md, time_budget: 0}]", ["0 is not a number of minutes"]),
        ("tasks: [{id: a, file: ui.md, cost_budget: -1}]", ["-1 is not an amount in dollars"]),
        (
            "tasks: [{id: a, file: ui.md, runner: acp}]",
            ["tasks[0].runner: 'acp' needs a `command` that starts it, under `runners`"],
        ),
        (
            "runners: {x: {type: acp}}\ntasks: [{id: a, file: ui.md}]",
            ["line 1: runners.x: has no `command` that starts it"],
        ),
        (
            "tasks: [{id: a, file: ui.md, runner: codex, runners: [{type: claude-code}]}]",
            ["has both `runner` and `runners`"],
        ),
        (
            "tasks: [{id: a, file: ui.md, runner_strategy: fallback}]",
            ["has `runner_strategy: fallback`, and no `runners`"],
        ),
        (
            "tasks: [{id: a, file: ui.md, runners: [{type: codex, trigger: on_error}]}]",
            ["tasks[0].runners[0].trigger: 'on_error' is not known", "on_timeout"],
        ),
        (
            "tasks: [{id: a, file: ui.md, watchdog: {escalation_strategy: panic}}]",
            ["tasks[0].watchdog.escalation_strategy: 'panic' is not known", "next_runner"],
        ),
        ("{ 'tasks': [", ["not readable as YAML"]),
    ],
)
def test_a_fault_is_told_with_its_place_and_what_is_allowed(text: str, says: list[str]) -> None:
    with pytest.raises(Rejected) as raised:
        load(text)
    error = raised.value
    assert error.reason.startswith("tasks.yaml: ")
    assert (error.stage, command_line(error.next_step)) == (
        "plan",
        "${EDITOR:-vi} tasks.yaml",
    )
    for words in says:
        assert words in error.reason


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(Rejected, match="5 faults") as raised:
        load(
            "tasks:\n- {id: a, file: gone.md, runner: x, depends_on: [z]}\n"
            "- {id: a, file: empty.md}\n"
        )
    assert len(raised.value.reason.splitlines()) == 6


def test_the_file_in_the_documentation_is_read() -> None:
    text = (Path(__file__).parents[3] / "docs" / "unattended.md").read_text(encoding="utf-8")
    _, _, rest = text.partition("```yaml\n")
    named = ("protocol.md", "tasks/db-schema.md", "tasks/ui.md")
    loaded = load(rest.partition("```")[0], dict.fromkeys(named, "Do it."))
    first, second = (step.subtasks[0].agent for step in loaded.plan.steps)
    assert first is not None
    assert second is not None
    assert [choice.name for choice in (*first.chain, *second.chain)] == [
        "claude-code",
        "codex",
        "mine",
    ]
    assert loaded.notes == ()
