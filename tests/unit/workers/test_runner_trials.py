"""Trials of runners: programs that behave as recorded, hang, fail, are old, or are missing."""

import shlex
import sys
from pathlib import Path

import pytest

from orchestrator.words.runners import describe_missing, describe_runner
from shared.domain.errors import Misconfigured
from shared.domain.runner_report import RunnerReport, RunnerState
from tests.unit.agents.streams import FOLDER
from workers.agents.runners.port import Runner
from workers.agents.runners.table import find_runner
from workers.runner_trials import CANDIDATES, Candidate, read_version, try_runners

CLAUDE, CODEX, OPENCODE, MINI = CANDIDATES


def recorded(name: str) -> str:
    (path,) = FOLDER.glob(f"{name}.*")
    return shlex.quote(str(path))


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the PATH, with what a trial itself needs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "git", "env", "cat", "mkdir", "sleep"):
        found = next(p for p in ("/usr/bin", "/bin") if Path(p, name).exists())
        (folder / name).symlink_to(Path(found, name))
    (folder / "python3").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr("workers.shells.remote.environment.search_path", str)
    return folder


def install(folder: Path, program: str, text: str) -> None:
    path = folder / program
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def tried(candidate: Candidate, *, longest: float = 30.0) -> RunnerReport:
    (report,) = try_runners([candidate], longest=longest)
    return report


def test_a_program_that_asks_and_goes_on_works(programs: Path) -> None:
    deferred, resumed = recorded("claude-code/deferred"), recorded("claude-code/answered")
    text = f'case "$*" in *--resume=*) cat {resumed} ;; *) cat {deferred} ;; esac'
    install(programs, "claude", text)
    found = tried(CLAUDE)
    assert (found.state, found.detail) == (RunnerState.WORKS, "")
    assert (found.defers, found.schema, found.path) == (True, True, str(programs / "claude"))
    assert "asks a person, resumes with the answer, keeps to the form" in describe_runner(found)


def test_a_program_that_fails_says_why(programs: Path) -> None:
    install(programs, "claude", "echo 'needs a newer kernel' >&2; exit 1")
    found = tried(CLAUDE)
    assert found.state is RunnerState.FAILS
    assert "fails: needs a newer kernel" in describe_runner(found)


def test_a_program_that_hangs_is_ended_with_what_it_started(programs: Path, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    install(programs, "claude", f"sleep 600 & echo $! >{pid}; wait")
    found = tried(CLAUDE, longest=2.0)
    assert found.state is RunnerState.SILENT
    status = Path(f"/proc/{pid.read_text().strip()}/stat")
    assert not status.exists() or status.read_text().split()[2] == "Z"


@pytest.mark.parametrize(
    ("version", "told"),
    [("the agent's 2", "2"), ("opencode 1.18.34", "1.18.34"), ("  ", ""), ("", "")],
)
def test_any_text_of_a_version_is_taken(version: str, told: str) -> None:
    assert read_version(version) == told


def test_one_odd_runner_costs_no_report_of_another(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever its trial raises is its own report."""
    install(programs, "claude", "exit 1")
    install(programs, "codex", "echo 'needs a newer kernel' >&2; exit 1")

    def find(name: str, command: str | None = None) -> Runner:
        if name == "claude-code":
            raise Misconfigured("it has no adapter", stage="start")
        return find_runner(name, command)

    monkeypatch.setattr("workers.runner_trials.find_runner", find)
    odd, other = try_runners([CLAUDE, CODEX])
    assert (odd.state, odd.detail) == (RunnerState.FAILS, "it has no adapter")
    assert other.state is RunnerState.FAILS
    assert "needs a newer kernel" in other.detail


def test_a_trial_that_cannot_make_its_workspace_says_why(programs: Path) -> None:
    install(programs, "claude", "exit 1")
    (programs / "git").unlink()
    install(programs, "git", "echo 'fatal: no templates' >&2; exit 128")
    found = tried(CLAUDE)
    assert (found.state, found.detail) == (RunnerState.FAILS, "fatal: no templates")


def test_missing_programs_are_told_on_one_line(programs: Path) -> None:
    install(programs, "mini", "exit 1")
    reports = try_runners()
    assert [each.state for each in reports] == [*[RunnerState.MISSING] * 3, RunnerState.NOT_TRIED]
    assert describe_missing(reports[:3]) == (
        "not installed on this machine: claude-code (pip install claude-agent-sdk), "
        "codex (npm install -g @openai/codex), acp (opencode) (npm install -g opencode-ai)"
    )


@pytest.mark.parametrize(
    ("version", "older"), [("2.1.99", True), ("2.1.330", False), ("2.2.0", False), ("", False)]
)
def test_an_older_version_is_named(version: str, *, older: bool) -> None:
    report = RunnerReport(
        "claude-code", "claude", "2.1.330", RunnerState.WORKS, "/bin/claude", version
    )
    assert report.is_older is older
    assert ("older than 2.1.330" in describe_runner(report)) is older


def test_the_tested_versions_are_those_of_the_tests() -> None:
    from tests.services.agent_programs import PACKAGES

    pinned = {name: package.version for name, package in PACKAGES.items()}
    tested = {"claude-code": CLAUDE.tested, "codex": CODEX.tested, "opencode": OPENCODE.tested}
    assert pinned == tested
    told = Path(__file__, "../../../../docs/runners.md").resolve().read_text()
    assert all(candidate.tested in told for candidate in CANDIDATES)
