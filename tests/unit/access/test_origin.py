"""Where an act comes from: what a job leaves in its environment and in that of its ancestors."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.access.origin import OriginKind, origin_of_process

STEM = "/home/ann/.replan/jobs/ab/7-1-0-1.1.1_c/1.1"
ASK = "from orchestrator.access.origin import origin_of_process as o; print(o().kind, o().attempt)"


def process(proc: Path, pid: int, parent: int, *variables: str) -> None:
    """A process as /proc has it; its name tries to be more than a name."""
    (proc / str(pid)).mkdir()
    (proc / str(pid) / "stat").write_text(f"{pid} (a) S 1 (b) S {parent} 0 0\n")
    (proc / str(pid) / "environ").write_bytes(b"\0".join(map(str.encode, variables)))


def test_a_job_names_its_attempt() -> None:
    found = origin_of_process({"REPLAN_ATTEMPT": STEM})
    assert (found.kind, found.attempt) == (OriginKind.JOB, "1.1")


def test_a_job_is_known_by_any_of_its_ancestors(tmp_path: Path) -> None:
    process(tmp_path, 1, 0, "PATH=/bin")
    process(tmp_path, 20, 1, "PATH=/bin", f"REPLAN_ATTEMPT={STEM}")
    process(tmp_path, 30, 20, "PATH=/bin")
    process(tmp_path, 40, 30)
    assert origin_of_process({}, pid=40, proc=tmp_path).kind is OriginKind.JOB
    (tmp_path / "20" / "environ").write_bytes(
        b"XREPLAN_ATTEMPT=x\0REPLAN_ATTEMPT=\0A=REPLAN_ATTEMPT="
    )
    assert origin_of_process({}, pid=40, proc=tmp_path).kind is not OriginKind.JOB


def test_processes_that_cannot_be_read_are_passed_over(tmp_path: Path) -> None:
    process(tmp_path, 20, 1, f"REPLAN_ATTEMPT={STEM}")
    process(tmp_path, 30, 20)
    (tmp_path / "30" / "environ").unlink()
    assert origin_of_process({}, pid=30, proc=tmp_path).kind is OriginKind.JOB
    assert origin_of_process({}, pid=99, proc=tmp_path).kind is not OriginKind.JOB


@pytest.mark.parametrize("way", ["exec", "env -i", "env -u REPLAN_ATTEMPT setsid", "env -i nohup"])
def test_a_job_that_clears_its_environment_is_known(way: str) -> None:
    """A job's own child, whose shell began with the variable."""
    script = f"{way} {sys.executable} -c '{ASK}' 2>/dev/null; exit $?"
    environ = {**os.environ, "REPLAN_ATTEMPT": STEM}
    done = subprocess.run(
        ("/bin/sh", "-c", f"true; {script}" if way != "exec" else f"({script})"),
        env=environ,
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["job", "1.1"]


def test_a_process_without_a_terminal_is_told_from_a_person() -> None:
    script = f"import os; os.setsid(); {ASK}"
    done = subprocess.run(
        (sys.executable, "-c", script),
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["process"]


def test_a_person_at_a_terminal_is_told() -> None:
    script = f"import pty, sys; sys.exit(pty.spawn([sys.executable, '-c', {ASK!r}]))"
    done = subprocess.run(
        (sys.executable, "-c", script),
        cwd=Path(__file__).parents[3],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["terminal"]
