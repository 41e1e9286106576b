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
    assert cli.json("task", "submit", "--plan", plan, "--local")
