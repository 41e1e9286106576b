"""A file of tasks on the command line, and the files that it names."""

import json
from pathlib import Path

import pytest

from orchestrator.cli.files import beside
from orchestrator.cli.main import main
from shared.domain.errors import Rejected


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with a task, and one below it with the file of tasks."""
    (tmp_path / "config").mkdir()
    (tmp_path / "ui.md").write_text("build it")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "config"


def test_a_file_is_sought_beside_the_file_that_names_it_first(folder: Path) -> None:
    read = beside(folder / "tasks.yaml")
    assert read("ui.md") == "build it"
    (folder / "ui.md").write_text("build it well")
    assert read("ui.md") == "build it well"
    assert read(str(folder.parent / "ui.md")) == "build it"


def test_a_file_that_is_in_neither_folder_is_refused_with_both(folder: Path) -> None:
    with pytest.raises(Rejected) as raised:
        beside(folder / "tasks.yaml")("gone.md")
    assert raised.value.reason == f"'gone.md' is not a file in {folder} or in {folder.parent}"


def test_a_file_that_is_no_text_is_refused(folder: Path) -> None:
    (folder / "ui.md").write_bytes(b"\xff\xfe")
    with pytest.raises(Rejected, match="cannot be read"):
        beside(folder / "tasks.yaml")("ui.md")
    (folder / "ui.md").unlink()
    (folder / "ui.md").mkdir()
    with pytest.raises(Rejected, match="cannot be read"):
        beside(folder / "tasks.yaml")("ui.md")


def test_a_plan_and_tasks_are_not_taken_together(
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = ["task", "submit", "--plan", "p.yaml", "--tasks", "t.yaml", "--local"]
    assert main([*given, "--format", "min-json"]) == 2
    answer = json.loads(capsys.readouterr().out)
    assert answer["reason"] == (
        "--plan and --tasks both give the plan of a task: leave one of them out"
    )
    assert answer["next_step_cmd"] == "replan task submit --tasks t.yaml --host NAME"
