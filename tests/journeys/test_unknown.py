"""A command that nobody can tell the end of, answered for in each of the three ways."""

from pathlib import Path

import pytest

from shared.domain.attempt import SAID, Answer
from tests.journeys.plans import plan, step
from tests.services.processes import descendants, kill
from tests.services.ring import Ring, eventually
from tests.services.scripted_worker import ScriptedWorker


def end(pid: int) -> None:
    """End what a command has left behind."""
    kill([pid, *(child for child, _ in descendants(pid))])


@pytest.mark.parametrize(
    ("flag", "answer", "runs"),
    [
        ("--ran", Answer.RAN, 0),
        ("--not-run", Answer.NOT_RUN, 1),
        ("--again", Answer.AGAIN, 1),
    ],
)
def test_a_person_says_what_became_of_it_and_the_task_is_done(
    ring: Ring, tmp_path: Path, flag: str, answer: Answer, runs: int
) -> None:
    """The ledger is outside of everything: it shows whether the command was run (again)."""
    ledger = tmp_path / "ledger"
    ring.coordinator()
    commands = [f"echo first >> {ledger}", f"echo second >> {ledger}"]
    task = ring.submit(plan(step(commands)), "localhost")
    ScriptedWorker(ring.database).loses_sight(commands[0], printed="so far\n")
    ring.ends(task, "waiting")

    shown = ring.replan("intervention", "show", "I1").stdout
    assert commands[0] in shown
    assert "so far" in shown
    assert f"next: replan intervention answer I1 {flag}" in shown
    ring.worker("executor")
    ring.replan("intervention", "answer", "I1", flag)
    ring.ends(task)

    assert ledger.read_text().split() == ["first"] * runs + ["second"]
    first = ring.rows("SELECT outcome, told_by_person FROM attempts WHERE subtask = 1 ORDER BY id")
    assert first[0].told_by_person == answer
    assert [row.outcome for row in first] == [
        "ok" if answer is Answer.RAN else "unknown",
        *["ok"] * runs,
    ]
    again = ring.replan("intervention", "answer", "I1", "--again", check=2)
    assert "already been answered" in again.stderr
    report = ring.replan("task", "report", f"T{task}").stdout
    assert SAID[answer] in report


def test_nothing_runs_while_nobody_answers(ring: Ring, tmp_path: Path) -> None:
    """Neither a resumption nor a worker that comes starts it again."""
    ledger = tmp_path / "ledger"
    ring.coordinator()
    task = ring.submit(plan(step([f"echo once >> {ledger}"])), "localhost")
    ScriptedWorker(ring.database).loses_sight()
    ring.ends(task, "waiting")
    ring.worker("executor")
    ring.replan("task", "resume", f"T{task}", check=2)
    other = ring.submit(plan(step(["true"])), "localhost")
    ring.ends(other)
    assert ring.phase(task) == "waiting"
    assert not ledger.exists()


def test_a_cancelled_command_is_proven_to_have_ended(ring: Ring, tmp_path: Path) -> None:
    running = tmp_path / "running"
    ring.coordinator()
    ring.worker("executor")
    command = f"echo $$ > {running}; sleep 60"
    task = ring.submit(plan(step([command])), "localhost")
    eventually(lambda: running.exists() and running.read_text().strip(), "the command")
    eventually(lambda: ring.scalar("SELECT count(*) FROM attempts"), "the attempt")
    done = ring.replan("task", "cancel", f"T{task}", "--wait")
    assert f"T{task} is cancelled" in done.stdout
    assert f"T{task}.1.1#1@localhost" in done.stdout
    assert not Path(f"/proc/{running.read_text().strip()}").exists()
    assert ring.scalar("SELECT outcome FROM attempts") == "cancelled"


def test_a_worker_that_died_with_a_command_in_hand_is_no_proof(
    ring: Ring, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Cancelled all the same; that nobody has ended it yet is said."""
    running = tmp_path / "running"
    ring.coordinator()
    ring.worker("executor")
    task = ring.submit(plan(step([f"echo $$ > {running}; sleep 60"])), "localhost")
    eventually(lambda: running.exists() and running.read_text().strip(), "the command")
    eventually(lambda: ring.scalar("SELECT count(*) FROM attempts"), "the attempt")
    ring.kill("executor")
    request.addfinalizer(lambda: end(int(running.read_text())))
    done = ring.replan("task", "cancel", f"T{task}", "--wait", "--timeout", "5", check=1)
    assert "a worker is sent to end it" in done.stdout
    ring.ends(task, "cancelled")
    sent = "SELECT count(*) FROM jobs WHERE kind = 'clean_up' AND state = 'open'"
    eventually(lambda: ring.scalar(sent), "the clean-up")
    assert ring.scalar("SELECT outcome FROM attempts") == "running"
    assert "a worker is sent to end it" in ring.replan("task", "report", f"T{task}").stdout
