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


def test_what_cannot_be_carried_out_is_refused_and_nothing_is_kept(
    cli: Cli, tmp_path: Path
) -> None:
    """Each with one sentence that names the place, and exit code 2."""
    cli.json("repo", "add", "app", "--path", tmp_path, "--no-ask", "--runner", "codex")
    for name in ("a", "b"):
        (tmp_path / f"{name}.md").write_text(f"Do {name}.\n")
    (tmp_path / "empty.md").write_text(" \n")
    (tmp_path / "binary.md").write_bytes(b"\xff\x00")
    (tmp_path / "loop.md").symlink_to("loop.md")
    a = "{id: a, file: a.md, runner: codex, depends_on: [%s]}"
    for tasks, words in {
        f"[{a % 'b'}, {{id: b, file: b.md, depends_on: [a]}}]": "need one another in a circle",
        f"[{a % 'a'}]": "need one another in a circle",
        f"[{a % ''}, {a % ''}]": "'a' is the id of two tasks",
        f"[{a % 'c'}]": "'c' is",
        "[{id: a, file: gone.md}]": "is not a file in",
        "[{id: a, file: empty.md}]": "is empty",
        "[{id: a, file: binary.md}]": "binary.md",
        "[{id: a, file: loop.md}]": "loop.md",
        "[{id: a, file: /dev/zero}]": "/dev/zero",
        "[{id: a, file: a.md, runner: gpt}]": "'gpt' is",
        "[{id: a, file: a.md, runner: claude-code}]": "allows codex",
        "[{id: a, file: a.md, runner: command}]": "needs a `command`",
        "[{id: a, file: a.md, time_budget: -5}]": "is not a number of minutes",
        "{id: a, file: a.md}": "tasks",
        "[]": "tasks",
    }.items():
        (tmp_path / "tasks.yaml").write_text(f"tasks: {tasks}\n")
        refused = cli.refused("task", "submit", "--tasks", tmp_path / "tasks.yaml", "--host", "app")
        assert words in refused["reason"], refused["reason"]
        assert refused["next_step_cmd"]
    assert cli.json("task", "list")["details"]["tasks"] == []
