"""A step of an agent, from a plan file to what it changed in a repository."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.services.ring import Ring, eventually

GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.com")
PLACES = Path("~/.replan/workspaces").expanduser()


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A repository with one commit; its name is its own, for its workspaces outlive the test."""
    folder = tmp_path / f"project-{uuid4().hex[:8]}"
    folder.mkdir()
    (folder / "app.txt").write_text("old\n")
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "first")):
        subprocess.run([*GIT, *command], cwd=folder, check=True)
    yield folder
    shutil.rmtree(PLACES / folder.name, ignore_errors=True)


def test_a_killed_executor_s_agent_goes_on_and_its_work_is_proved(
    ring: Ring, project: Path, tmp_path: Path
) -> None:
    """Must show 2: it is started once, and the tree holds its work. A command goes on from it."""
    started, gate = tmp_path / "started", tmp_path / "gate"
    program = tmp_path / "agent"
    program.write_text(
        f'#!/bin/sh\necho x >>{started}\necho half >half.txt\necho "reads $(cat "$1")"\n'
        f"until [ -e {gate} ]; do sleep 0.1; done\necho new >app.txt\n"
    )
    program.chmod(0o755)
    plan = tmp_path / "plan.yaml"
    plan.write_text(f"""
steps:
  - title: Renew the app
    repository: {project.name}
    subtasks:
      - title: Write the new text
        kind: agent
        goal: Put the word new into app.txt
        agent:
          runners: [{{runner: command, command: "{program} {{task_file}}"}}]
        check: grep -q new app.txt
  - title: Look at it
    repository: {project.name}
    subtasks: [{{command: cat app.txt half.txt}}]
""")
    ring.coordinator()
    ring.worker("executor", name="executor-1")
    ring.replan("repo", "add", project.name, "--path", str(project))
    ring.replan("task", "submit", "--plan", str(plan), "--local")
    eventually(started.exists, "the start of the agent")
    eventually(lambda: ring.rows("SELECT 1 FROM attempts WHERE outcome = 'running'"), "its row")
    ring.kill("executor-1")
    gate.touch()
    ring.worker("executor", name="executor-2")
    ring.ends(1)
    assert started.read_text() == "x\n"
    worked, command = ring.rows("SELECT * FROM attempts ORDER BY id")
    assert (worked.outcome, worked.body["changed_files"]) == ("ok", ["app.txt", "half.txt"])
    assert worked.body["summary"] == "reads Put the word new into app.txt"
    assert command.stdout == "new\nhalf\n"
    assert (project / "app.txt").read_text() == "old\n"
    shown = ring.replan("task", "show", "T1").stdout
    assert "Renew the app" in shown
