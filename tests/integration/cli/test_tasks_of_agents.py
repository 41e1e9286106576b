"""A file of tasks as people wrote them, submitted for a repository."""

from pathlib import Path

from tests.integration.cli.calling import Cli

TASKS = """
{
  "runners": {"codex": {"type": "codex", "command": "codex --mode agent"}},
  "tasks": [
    {"id": "db-schema", "file": "tasks/db-schema.md", "runner": "codex", "time_budget": 45},
    {"id": "ui", "file": "tasks/ui.md", "runner": "codex", "depends_on": ["db-schema"]}
  ]
}
"""


def test_a_file_of_tasks_is_submitted_for_a_repository(cli: Cli, tmp_path: Path) -> None:
    """S4.59: with nothing but what it always held; a task whose file is gone is refused."""
    cli.json("repo", "add", "app", "--path", tmp_path, "--no-ask")
    file = tmp_path / "orchestrator.json"
    file.write_text(TASKS)
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "ui.md").write_text("Build the page.\n")
    refused = cli.refused("task", "submit", "--tasks", file, "--host", "app")
    assert "tasks[0].file: 'tasks/db-schema.md' is not a file in" in refused["reason"]
    (tmp_path / "tasks" / "db-schema.md").write_text("# Create the schema\n")
    ref = cli.json("task", "submit", "--tasks", file, "--host", "app")["details"]["ref"]
    assert ref == "T1"
    told = cli("task", "submit", "--tasks", file, "--host", "app").err
    assert "replan starts codex with options of its own, without `--mode agent`" in told


def test_tasks_that_one_needs_are_in_a_row(cli: Cli, tmp_path: Path) -> None:
    """In one repository, a task continues the work of one other."""
    cli.json("repo", "add", "app", "--path", tmp_path, "--no-ask")
    for name in ("ui", "api", "integrate"):
        (tmp_path / f"{name}.md").write_text(f"Do {name}.\n")
    file = tmp_path / "tasks.yaml"
    tasks = """
runners: {codex: {type: codex}}
tasks:
  - {id: ui, file: ui.md, runner: codex}
  - {id: api, file: api.md, runner: codex, depends_on: [%s]}
  - {id: integrate, file: integrate.md, runner: codex, depends_on: [ui, api]}
"""
    file.write_text(tasks % "")
    refused = cli.refused("task", "submit", "--tasks", file, "--host", "app")
    assert "step 'integrate' needs the steps 'ui' and 'api'" in refused["reason"]
    assert "put them in a row" in refused["reason"]
    file.write_text(tasks % "ui")
    assert cli.json("task", "submit", "--tasks", file, "--host", "app")
