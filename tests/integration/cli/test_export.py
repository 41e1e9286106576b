"""`task export`: a finished task becomes a runbook, which runs on another host without a model."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from sqlalchemy import text

from tests.integration.cli.calling import Cli


@pytest.fixture
def runbooks(tmp_path: Path) -> Path:
    """The operator's folder of runbooks, which workers read."""
    folder = tmp_path / "runbooks"
    folder.mkdir()
    return folder


@pytest.fixture
def worker_environ(runbooks: Path, short_looks: None) -> dict[str, str]:  # noqa: ARG001
    """The worker reads that folder."""
    return {"REPLAN_RUNBOOK_DIRS": str(runbooks)}


@pytest.fixture
def other(cli: Cli) -> str:
    """Another host; it is this machine in truth."""
    with cli.database.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO hosts (name, connection, address, port)"
                " VALUES ('other', 'local', '127.0.0.1', 22)"
            )
        )
    return "other"


def greeted(cli: Cli, folder: Path) -> str:
    """A task that has put a greeting into a folder, after a revision by hand; its reference."""
    plan, fix = folder.parent / "plan.yaml", folder.parent / "fix.yaml"
    made = {"run": f"echo hello > {folder}/greeting", "check": f"test -s {folder}/greeting"}
    steps: list[dict[str, Any]] = [
        {"title": "Look", "subtasks": [{"run": "true"}]},
        {"title": "Greet", "planner": "human", "subtasks": [made]},
    ]
    plan.write_text(yaml.safe_dump({"summary": f"Greet in {folder}", "steps": steps}))
    fix.write_text(yaml.safe_dump({"subtasks": [{"run": f"mkdir {folder}"}, made]}))
    given = ("--local", "--wait", "--set", "auto_correction_enabled=false")
    answer = cli.json("task", "submit", "--plan", plan, *given, code=3)
    ref = str(answer["details"]["ref"])
    assert f"{ref}@localhost is waiting" in cli.refused("task", "export", ref)["reason"]
    cli.json("step", "revise", f"{ref}.2", "--file", fix)
    cli.json("task", "watch", ref)
    return ref


def test_a_finished_task_runs_again_elsewhere_without_a_model(
    working: Cli, runbooks: Path, other: str, tmp_path: Path
) -> None:
    ref = greeted(working, tmp_path / "first")
    made = working.json("task", "export", ref, "--as", "runbook")["details"]
    assert made["parameters"] == {"folder": f"{tmp_path}/first"}
    assert working("task", "export", ref).out.strip() == made["text"].strip()
    file = runbooks / "greet.yaml"
    said = working("task", "export", ref, "--as", "runbook", "--output", file)
    assert said.code == 0
    assert "next: replan task submit" in said.out
    assert file.read_text() == made["text"]
    wanted = f"Greet in {tmp_path}/second"
    again = ("--host", other, "--planner", "runbook", "--wait")
    answer = working.json("task", "submit", wanted, *again)["details"]
    assert (tmp_path / "second" / "greeting").read_text() == "hello\n"
    steps = answer["runs"][0]["steps"]
    assert [(step["author"], step["revision"]) for step in steps] == [("planner/runbook", 0)] * 2
    schema = working.json("schema", "show", "task.export")["details"]
    jsonschema.Draft202012Validator.check_schema(schema)
    refuses(working, ref, tmp_path)


def refuses(working: Cli, ref: str, tmp_path: Path) -> None:
    """What cannot be exported, or not to there, is told so."""
    there = tmp_path / "there.yaml"
    there.write_text("mine")
    refused = working.refused("task", "export", ref, "--output", there)
    assert "already exists" in refused["reason"]
    assert there.read_text() == "mine"
    away = working.refused("task", "export", ref, "--output", tmp_path / "no" / "x.yaml")
    assert "cannot be written" in away["reason"]
    assert (
        "'ansible' is not a valid export format"
        in working.refused("task", "export", ref, "--as", "ansible")["reason"]
    )
    assert "no task T99" in working.refused("task", "export", "T99")["reason"]
