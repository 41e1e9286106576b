"""`replan runbook list|show`: what is known without a model, and how it is asked for."""

from pathlib import Path

import pytest

from orchestrator.cli.completion import runbooks
from tests.integration.cli.asking import plain, plan_file
from tests.integration.cli.calling import Cli

MINE = """
jobs:
  - id: greet
    match: ["^greet (?P<who>[a-z]+)$"]
    parameters: {word: hello}
    forms: {who: {pattern: "[a-z]+", about: who is greeted}}
    steps: [{title: Greet, subtasks: [{run: "echo ${word} ${who}", check: "true"}]}]
    revisions: [{when: mute, reason: Nobody hears it., subtasks: [{run: "echo"}]}]
"""


def test_runbooks_are_listed_shown_and_completed(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "mine.yaml").write_text(MINE)
    monkeypatch.setenv("REPLAN_RUNBOOK_DIRS", str(folder))
    mine, *shipped = cli.json("runbook", "list")["details"]["runbooks"]
    assert (mine["name"], mine["parameters"]) == ("greet", ["who", "word"])
    assert all(each["example"] and each["summary"] for each in shipped)

    view = cli.json("runbook", "show", "greet")["details"]
    who, word = view["parameters"]
    assert (who["about"], who["default"], word["default"]) == ("who is greeted", None, "hello")
    assert view["steps"][0]["subtasks"][0]["check"] == "true"
    assert view["alternatives"] == [{"when": "mute", "reason": "Nobody hears it."}]
    shown = cli("runbook", "show", "swap").out
    assert "replan task submit 'add 2G of swap' --host NAME --planner runbook" in shown

    assert "no runbook 'swop'" in cli.refused("runbook", "show", "swop")["reason"]
    assert runbooks("gr") == ["greet"]
    (folder / "mine.yaml").write_text("jobs: [")
    assert runbooks("gr") == []
    assert "mine.yaml" in cli.refused("runbook", "list")["reason"]


def test_auto_takes_a_runbook_that_fits_and_says_so(cli: Cli, tmp_path: Path) -> None:
    """Of all that only resembles one, the planner that is set is told, and planned with."""

    def planner_of(*said: str) -> tuple[str, str | None]:
        answer = cli.json("task", "submit", *said, "--local", "--planner", "auto")
        (row,) = cli.rows("SELECT policy FROM tasks ORDER BY id DESC LIMIT 1")
        assert row.policy["planner"] == row.policy["subtask_planner"]
        found = answer["details"]["runbook"]
        return row.policy["planner"], None if found is None else found["name"]

    by_swap = ("runbook", "swap")
    assert planner_of("Please add 2G of swap.") == by_swap
    assert planner_of("add 2G of swap", "--set", "taskmaster_enabled=true") == by_swap
    for other in ("add 2G of swap to the machine behind db1", "add 2G of swap file=/etc/../swap"):
        assert planner_of(other) == ("anthropic", None)

    def told(prompt: str) -> str:
        return cli("task", "submit", prompt, "--local", "--planner", "auto").err

    assert "no runbook fits, so the planner anthropic is asked" in told("make coffee")
    assert "the runbook swap does not fit: file (the file)" in told("add swap file=/../x")
    said = cli("task", "submit", "add 2G of swap", "--local", "--planner", "auto")
    assert "the runbook swap plans it, and no model is asked (file=/swapfile, size=2G)" in said.err
    assert "with --planner NAME another planner: replan runbook show swap" in said.err
    plan = ("--plan", plan_file(tmp_path, plain("true")), "--local", "--planner", "auto")
    assert "leave out --planner auto" in cli.refused("task", "submit", *plan)["reason"]
