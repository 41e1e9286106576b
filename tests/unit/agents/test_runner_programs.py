"""Which programs of runners a host has."""

from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from orchestrator.words.repositories import describe_programs
from shared.domain.attempt import CommandResult
from shared.domain.target import Repository, RepositoryReport, RunnerProgram
from tests.unit.agents.test_repository_check import Here
from workers.agents.runner_programs import runner_programs
from workers.shells.ports import Call, Shell


def test_programs_tell_where_they_are_and_their_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, said in (("codex", "codex-cli 0.169.0"), ("mini", "this is not asked for")):
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{said}'\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = {each.program: each for each in runner_programs(cast("Shell", Here()))}
    assert found["codex"] == RunnerProgram("codex", "codex", str(tmp_path / "codex"), "0.169.0")
    assert found["mini"].version == ""


def test_a_host_that_says_nothing_has_none() -> None:
    class Mute:
        def run(self, call: Call) -> CommandResult:
            now = datetime.now(UTC)
            return CommandResult(call.command, 1, b"", b"", now, now)

    assert runner_programs(cast("Shell", Mute())) == ()


def test_what_a_repository_names_and_its_host_lacks_is_told() -> None:
    codex = RunnerProgram("codex", "codex", "/bin/codex", "0.169.0")
    report = RepositoryReport(programs=(codex,))
    named = Repository("app", "web1", path="/srv/app", runners=("codex", "claude-code", "acp"))
    assert [*describe_programs(named, report)] == [
        "agents on web1: codex 0.169.0 (/bin/codex)",
        "not installed on web1: claude-code",
    ]
    anybody = Repository("app", "web1", path="/srv/app")
    assert "none of those" in next(describe_programs(anybody, RepositoryReport()))
