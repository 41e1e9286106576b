"""Retry and resume on the command line: what S1 tells, by its numbers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.acts import plans
from orchestrator.acts.caller import Caller
from shared.settings import Settings
from tests.integration.cli.calling import Cli
from tests.integration.cli.conftest import at_work

FAST = ("--set", "retry_delay=0", "--set", "auto_correction_enabled=false")


def written(folder: Path, *steps: dict[str, Any], **more: Any) -> Path:
    path = folder / "plan.yaml"
    path.write_text(yaml.safe_dump({"steps": list(steps), **more}))
    return path


def step(title: str, *commands: str, **more: Any) -> dict[str, Any]:
    return {"title": title, "subtasks": [{"run": command} for command in commands], **more}


def failing_until(folder: Path, times: int) -> str:
    """A command that fails that many times, and then goes well; it leaves a line each time."""
    tries = folder / "tries"
    return f"echo x >> {tries}; test $(wc -l < {tries}) -gt {times}"


def submit(cli: Cli, plan: Path, *more: str, code: int = 0) -> dict[str, Any]:
    answer = cli.json(
        "task", "submit", "--plan", plan, "--local", *FAST, *more, "--wait", code=code
    )
    return answer["details"]  # type: ignore[no-any-return]


def passes(cli: Cli) -> list[tuple[int, str]]:
    found = cli.rows("SELECT body FROM events WHERE kind = 'PassFinished' ORDER BY id")
    return [(row.body["step"], row.body["ending"]) for row in found]


def test_bl014_a_task_that_fails_is_retried_and_counted(working: Cli, tmp_path: Path) -> None:
    """S1.6, S1.19, S1.29: failed once, counted, tried again, done; the flow goes on."""
    plan = written(tmp_path, step("Flaky", failing_until(tmp_path, 1)), step("After", "true"))
    task = submit(working, plan)
    assert passes(working) == [(1, "incomplete"), (1, "done"), (2, "done")]
    assert (task["phase"], task["state"]) == ("done", "Done")
    assert [s["state"] for s in task["runs"][0]["steps"]] == ["Done", "Done"]
    (record,) = task["context"]["retries"]
    assert record["ref"] == f"{task['ref']}.1@localhost"
    assert (record["failures"], record["current"]) == (1, 0)
    assert task["context"]["error_info"] is None


def test_bl005_onboarding_goes_on_after_one_failure(working: Cli, tmp_path: Path) -> None:
    """S1.30: Will Zhang's access control fails once; everything else runs once."""
    ledger = tmp_path / "ledger"
    names = ("account", "mailbox", "badge", "desk", "welcome")
    steps = [step(name, f"echo {name} >> {ledger}") for name in names]
    steps.insert(3, step("access control", failing_until(tmp_path, 1)))
    task = submit(working, written(tmp_path, *steps, summary="Onboard Will Zhang"))
    assert task["phase"] == "done"
    assert ledger.read_text().split() == list(names)
    assert (tmp_path / "tries").read_text().split() == ["x", "x"]


def test_bl005_resume_after_several_tasks_have_used_up_their_tries(
    working: Cli, tmp_path: Path
) -> None:
    """S1.11, S1.20, S1.21, S1.31: three failures each, then a person, then only what failed."""
    ready, ledger = tmp_path / "ready", tmp_path / "ledger"
    plan = written(
        tmp_path,
        step("First", f"echo first >> {ledger}"),
        step("Badge", f"echo badge >> {ledger}; test -e {ready}", depends_on=[1]),
        step("Desk", f"echo desk >> {ledger}; test -e {ready}", depends_on=[1]),
        step("Welcome", f"echo welcome >> {ledger}", depends_on=[2, 3]),
    )
    task = submit(working, plan, code=3)
    assert (task["phase"], task["state"]) == ("waiting", "Error")
    assert [s["state"] for s in task["runs"][0]["steps"]] == [
        "Done", "Error", "Error", "NotStarted",
    ]  # fmt: skip
    assert task["context"]["error_info"] == {
        "failed_retries": 3,
        "status": "waiting_for_resume",
        "message": "Task failed after 3 retries",
    }
    lines = ledger.read_text().split()
    assert (lines.count("badge"), lines.count("desk"), lines.count("first")) == (3, 3, 1)
    assert "Task failed after 3 retries" in working("task", "show", task["ref"]).out
    ready.touch()
    answer = working.json("plan", "resume", task["ref"])
    assert answer["details"]["message"] == "Plan resumed successfully"
    after = working.json("task", "watch", task["ref"])["details"]
    assert after["phase"] == "done"
    assert after["context"]["error_info"] is None
    lines = ledger.read_text().split()
    assert (lines.count("badge"), lines.count("desk"), lines.count("first")) == (4, 4, 1)
    assert lines[-1] == "welcome"


def test_resume_after_seven_of_ten_subtasks_runs_three(working: Cli, tmp_path: Path) -> None:
    """S1.15: what is done is not done again; the core of the HTTP face is the same function."""
    ready, ledger = tmp_path / "ready", tmp_path / "ledger"
    subtasks = [{"run": f"echo {n} >> {ledger}"} for n in range(1, 11)]
    subtasks[7] = {"run": f"test -e {ready} && echo 8 >> {ledger}"}
    plan = written(tmp_path, {"title": "Ten", "subtasks": subtasks, "on_failure": "continue"})
    task = submit(working, plan, "--set", "max_retry_count=1", code=1)
    assert ledger.read_text().split() == [str(n) for n in range(1, 8)]
    ready.touch()
    ran = len(working.rows("SELECT id FROM attempts WHERE ran_at IS NOT NULL"))
    caller = Caller.of_account(Settings(), working.database)
    done = plans.resume(caller, task["ref"].removeprefix("T"))
    assert done.taken
    assert plans.RESUMED == "Plan resumed successfully"
    assert working.json("task", "watch", task["ref"])["details"]["phase"] == "done"
    assert ledger.read_text().split() == [str(n) for n in range(1, 11)]
    assert len(working.rows("SELECT id FROM attempts WHERE ran_at IS NOT NULL")) == ran + 3
    assert "done" in working.refused("plan", "resume", task["ref"])["reason"]
    assert "T99" in working.refused("plan", "resume", "99")["reason"]


def test_limits_are_changed_for_a_task_that_is_there(working: Cli, tmp_path: Path) -> None:
    """S1.24: with five allowed failures in place of one, the fourth try succeeds."""
    plan = written(tmp_path, step("Flaky", failing_until(tmp_path, 4), on_failure="continue"))
    ref = submit(working, plan, "--set", "max_retry_count=1", code=1)["ref"]
    for change, told in (
        ("max_retry_count=0", "max_retry_count"),
        ("max_retry_count=x", "max_retry_count"),
        ("forbidden_commands=", "cannot be changed"),
        ("nonsense", "cannot be changed"),
    ):
        assert told in working.refused("task", "limit", ref, change)["reason"]
    answer = working.json("task", "limit", ref, "max_retry_count=5", "retry_strategy=by_class")
    assert answer["details"]["limits"] == {"max_retry_count": 5, "retry_strategy": "by_class"}
    shown = working.json("task", "show", ref)["details"]
    assert shown["policy"]["max_retry_count"] == 5
    assert (shown["phase"], shown["state"]) == ("error", "Error")
    working.json("task", "resume", ref)
    assert working.json("task", "watch", ref)["details"]["phase"] == "done"
    assert (tmp_path / "tries").read_text().split() == ["x"] * 5
    assert "max_retry_count=5" in working("task", "watch", ref).out
    assert "done" in working.refused("task", "limit", ref, "max_retry_count=2")["reason"]


def test_a_class_of_error_that_lasts_is_not_tried_again(working: Cli, tmp_path: Path) -> None:
    """S1.32: rights do not come by waiting."""
    denied = step("Denied", "echo 'Permission denied' >&2; exit 1", on_failure="continue")
    plan = written(tmp_path, denied)
    task = submit(working, plan, "--set", "retry_strategy=by_class", code=1)
    assert passes(working) == [(1, "incomplete")]
    assert task["context"]["error_info"]["failed_retries"] == 1


@pytest.fixture
def two_hands(coordinated: Cli, database_url: str, bare: Path) -> Iterator[Cli]:
    """A coordinator, and an executor that does two jobs at a time."""
    environ = {"HOME": str(bare), "REPLAN_DATABASE_URL": database_url}
    with at_work(environ, hands=2):
        yield coordinated


def test_steps_of_a_group_overlap_and_what_needs_both_waits(two_hands: Cli, tmp_path: Path) -> None:
    """S3.6, S3.7, S3.56: each of two ends only once the other has begun; the third is last."""
    a, b, ledger = tmp_path / "a", tmp_path / "b", tmp_path / "ledger"

    def meeting(own: Path, other: Path) -> str:
        return (
            f"touch {own}; until test -e {other}; do sleep 0.02; done; echo {own.name} >> {ledger}"
        )

    plan = written(
        tmp_path,
        step("A", meeting(a, b), id="a", parallel_group="both"),
        step("B", meeting(b, a), id="b", parallel_group="both"),
        step("C", f"echo c >> {ledger}", depends_on=["a", "b"]),
    )
    assert submit(two_hands, plan)["phase"] == "done"
    lines = ledger.read_text().split()
    assert (sorted(lines[:2]), lines[2]) == (["a", "b"], "c")
    order = [kind for kind, step in _started_and_ended(two_hands) if step in {1, 2}]
    assert order == ["PassStarted", "PassStarted", "PassFinished", "PassFinished"]


def _started_and_ended(cli: Cli) -> list[tuple[str, int]]:
    """When passes began and ended, by the times of their attempts."""
    found = cli.rows("SELECT step, started_at, ended_at FROM attempts")
    moments = [(row.started_at, "PassStarted", row.step) for row in found]
    moments += [(row.ended_at, "PassFinished", row.step) for row in found]
    return [(kind, step) for _, kind, step in sorted(moments)]
