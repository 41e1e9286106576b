"""The work of agents in a plan that a person gives: what is refused, before anything is kept."""

from pathlib import Path

import pytest

from tests.integration.cli.calling import Cli

PLAN = """
steps:
  - title: Renew the app
    {where}
    subtasks:
      - kind: agent
        goal: Put the word new into app.txt
        agent: {{runner: {runner}}}
"""


@pytest.mark.parametrize(
    ("where", "runner", "words"),
    [
        ("repository: app", "codex", "allows claude-code"),
        ("repository: other", "claude-code", "known: app"),
        ("", "claude-code", "'localhost' is not a repository"),
    ],
)
def test_an_agent_needs_a_repository_that_allows_it(
    cli: Cli, tmp_path: Path, where: str, runner: str, words: str
) -> None:
    cli.json("repo", "add", "app", "--path", tmp_path, "--no-ask", "--runner", "claude-code")
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN.format(where=where, runner=runner))
    refused = cli.refused("task", "submit", "--plan", plan, "--local")
    assert words in refused["reason"]
    assert refused["next_step_cmd"]
    plan.write_text(PLAN.format(where="repository: app", runner="claude-code"))
    refused = cli.refused("task", "submit", "--plan", plan, "--local")
    assert refused["reason"] == (
        "step '1': subtask '1' is the work of an agent and has no check, nor has repository 'app': "
        "give it a `check`, a command that exits with 0 once the work is done"
    )
    checked = ("--runner", "claude-code", "--check", "grep new app.txt", "--replace")
    cli.json("repo", "add", "app", "--path", tmp_path, "--no-ask", *checked)
    submitted = cli.json("task", "submit", "--plan", plan, "--local")["details"]
    assert submitted["warnings"] == [], "it has the check of its repository"


DIAMOND = """
steps:
  - {{id: ui, title: Build the page, depends_on: [], {work}}}
  - {{id: api, title: Answer the page, depends_on: [{row}], {work}}}
  - {{id: integrate, title: Put them together, depends_on: [ui, api], {work}}}
"""
BESIDE = (
    "step 'integrate' needs the steps 'ui' and 'api', which work in repository 'app' side by side: "
    "put them in a row, each with the one before it in its `depends_on`"
)


def diamond(place: str = "repository: app, ", row: str = "") -> str:
    """A plan whose last step needs two; they are in a row if the second one names the first."""
    return DIAMOND.format(work=f"{place}subtasks: [{{command: 'true'}}]", row=row)


@pytest.mark.parametrize(("place", "target"), [("repository: app, ", "localhost"), ("", "app")])
def test_work_in_one_repository_comes_in_a_row(
    cli: Cli, tmp_path: Path, place: str, target: str
) -> None:
    """Two that work side by side leave two trees, and the third could only continue one."""
    cli.json("repo", "add", "app", "--path", tmp_path, "--no-ask")
    plan = tmp_path / "plan.yaml"
    plan.write_text(diamond(place))
    asked = ("task", "submit", "--plan", plan, "--host")
    assert cli.refused(*asked, target)["reason"] == BESIDE
    plan.write_text(diamond(place, row="ui"))
    assert cli.json(*asked, target)
    plan.write_text(diamond(""))
    assert cli.json(*asked, "localhost"), "a host is no repository"


def test_a_plan_given_later_is_in_a_row_too(cli: Cli, tmp_path: Path) -> None:
    cli.json("repo", "add", "app", "--path", tmp_path, "--no-ask")
    ref = cli.json("task", "submit", "p", "--local", "--planner", "human")["details"]["ref"]
    plan = tmp_path / "plan.yaml"
    plan.write_text(diamond())
    assert cli.refused("plan", "provide", ref, "--file", plan)["reason"] == BESIDE
