"""`replan logs`: for people on a terminal, as it was written in a pipe, and as values."""

import io
import json
import os
from pathlib import Path

import pytest

from orchestrator.cli.logs_command import show
from orchestrator.cli.main import main
from orchestrator.cli.terminal import Terminal
from orchestrator.embedded.log_files import LogFiles
from shared.settings import ConnectionFile, RunningElsewhere, usual_data_dir
from tests.services.schemas import validate

LINE = {
    "jobs": 3,
    "event": "outbox_sent",
    "level": "warning",
    "timestamp": "2026-11-24T00:00:01.5Z",
}
WRITTEN = f"{json.dumps(LINE)}\nhe said: \x1b[2J no\n"


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the logs of an installation of its own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("REPLAN_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("REPLAN_CONFIG", "")
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "coordinator.log").write_text(WRITTEN)
    (folder / "postgres.log").write_text("ready\n")
    return folder


def test_a_pipe_gets_the_lines_as_they_were_written(
    logs: Path,  # noqa: ARG001 - found by its place
    capsys: pytest.CaptureFixture[str],
) -> None:
    """But for what would steer a terminal, if it came to one later."""
    assert main(["logs", "coordinator"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert json.loads(first) == LINE
    assert second.startswith("he said: ")
    assert "\x1b" not in second
    assert main(["logs", "-n", "1"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_a_terminal_gets_lines_for_people(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    sink = io.StringIO()
    console = Terminal(file=sink, force_terminal=True, color_system=None, soft_wrap=True)
    show(console, LogFiles(logs).new_lines(), logs)
    assert "coordinator  outbox_sent jobs=3\n" in sink.getvalue()
    assert "postgres     ready\n" in sink.getvalue()


def test_programs_get_values(
    logs: Path,  # noqa: ARG001 - found by its place
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["logs", "--format", "jsonl"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for answer in answers:
        validate(answer)
    assert [each["details"]["name"] for each in answers] == ["postgres", *["coordinator"] * 2]
    assert main(["logs", "--format", "min-json"]) == 0
    validate(json.loads(capsys.readouterr().out))


def test_a_process_that_has_no_log_is_refused_with_those_that_have(
    logs: Path,  # noqa: ARG001 - found by its place
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["logs", "planer"]) == 2
    assert "there are: coordinator, postgres" in capsys.readouterr().err


def test_where_nothing_has_run_there_is_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither to read nor to stop, and that is no error."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("REPLAN_CONFIG", "")
    for verb, said in (("logs", "there are no lines in"), ("down", "nothing runs in")):
        assert main([verb]) == 0
        assert said in capsys.readouterr().out
        assert main([verb, "--format", "min-json"]) == 0
        validate(json.loads(capsys.readouterr().out))


def test_what_runs_in_another_folder_is_not_stopped_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other commands find it while it is the only one."""
    for variable in ("REPLAN_DATA_DIR", "REPLAN_DATABASE_URL", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("REPLAN_CONFIG", "")
    other = tmp_path / "other"
    ConnectionFile("postgresql://u@127.0.0.1:1/d", "redis://127.0.0.1:1/0", os.getpid()).write(
        other
    )
    RunningElsewhere(usual_data_dir({"HOME": str(tmp_path)})).note(other)
    assert main(["down"]) == 2
    assert f"next: replan down --data-dir {other}" in capsys.readouterr().err
    assert ConnectionFile.read(other) is not None
