"""Commands run once, whatever becomes of who asked for them; and what is cancelled is gone."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.stage import enrol
from shared.domain.errors import Transient
from shared.domain.plan import Plan
from tests.journeys.plans import plan, step
from tests.services.breakable import Breakable
from tests.services.processes import running
from tests.services.ring import Ring, eventually
from tests.services.sshd import SshServer

SLEEP = 6


@pytest.fixture(params=["localhost", "web1"])
def target(request: pytest.FixtureRequest, ring: Ring) -> str:
    """This machine, and a host over SSH."""
    if request.param == "web1":
        server: SshServer = request.getfixturevalue("sshd")
        enrol(ring.database, "web1", server)
    ring.coordinator()
    return str(request.param)


@pytest.fixture
def ledger(target: str, sshd: SshServer, tmp_path: Path) -> Path:
    """A file that the commands can append to."""
    place = sshd.home / f"ledger-{os.getpid()}-{tmp_path.name}"
    return place if target == "web1" else tmp_path / "ledger"


def lines(ledger: Path) -> list[str]:
    """What the commands appended."""
    return ledger.read_text().splitlines() if ledger.exists() else []


def test_a_killed_executor_s_command_goes_on_and_is_found_again(
    ring: Ring, target: str, ledger: Path
) -> None:
    """Must show 2: one line, the output whole, and no time for a second start."""
    command = f"echo before; echo run >>{ledger}; sleep {SLEEP}; echo end >>{ledger}; echo after"
    ring.worker("executor", name="executor-1")
    task = ring.submit(plan(step([command, f"echo next >>{ledger}"])), target)
    eventually(lambda: lines(ledger) == ["run"], "the start of the command")
    eventually(lambda: ring.rows("SELECT 1 FROM attempts WHERE outcome = 'running'"), "its row")
    ring.kill("executor-1")
    ring.worker("executor", name="executor-2")
    ring.ends(task)

    assert lines(ledger) == ["run", "end", "next"]
    first = ring.rows("SELECT * FROM attempts WHERE subtask = 1")[0]
    assert (first.outcome, first.stdout) == ("ok", "before\nafter\n")
    took = first.ended_at - first.started_at
    assert took.total_seconds() >= SLEEP
    assert ring.scalar("SELECT count(*) FROM attempts") == 2


def test_a_frozen_executor_and_another_one_run_it_once(
    ring: Ring, target: str, ledger: Path
) -> None:
    """Both drive the pass: the first wakes up when the second has it."""
    commands = [f"echo {number} >>{ledger}; sleep 0.2" for number in range(12)]
    ring.worker("executor", name="executor-1")
    task = ring.submit(plan(step(commands)), target)
    eventually(lambda: len(lines(ledger)) >= 3, "some commands")
    pid = ring.processes["executor-1"].pid
    os.kill(pid, signal.SIGSTOP)
    ring.worker("executor", name="executor-2")
    eventually(
        lambda: ring.scalar("SELECT fence FROM jobs WHERE kind = 'execute'") == 2, "the takeover"
    )
    os.kill(pid, signal.SIGCONT)
    ring.ends(task)
    assert lines(ledger) == [str(number) for number in range(12)]


def test_nothing_is_left_of_what_was_cancelled(ring: Ring, target: str, ledger: Path) -> None:
    """Must show 3: a grandchild that ignores TERM is gone, and the report says how."""
    command = (
        f"trap '' TERM; (trap '' TERM; sh -c 'echo $$ >>{ledger}; exec sleep 600') & "
        f"echo $$ >>{ledger}; wait"
    )
    ring.worker("executor")
    task = ring.submit(plan(step([command])), target)
    eventually(lambda: len(lines(ledger)) == 2, "both processes")
    done = ring.replan("task", "cancel", f"T{task}", "--wait")

    assert not [pid for pid in map(int, lines(ledger)) if running(pid)]
    assert "KILL" in done.stdout
    assert "KILL" in ring.replan("task", "report", f"T{task}").stdout


def test_what_nobody_was_at_when_it_was_cancelled_is_ended_all_the_same(
    ring: Ring, target: str, ledger: Path
) -> None:
    """Its worker is dead, and another one is sent only to end it; nothing further is started."""
    ring.worker("executor", name="first")
    command = f"echo $$ >>{ledger}; sleep 300"
    task = ring.submit(plan(step([command, f"echo 0 >>{ledger}"])), target)
    eventually(lambda: ring.rows("SELECT 1 FROM attempts WHERE outcome = 'running'"), "the start")
    eventually(lambda: lines(ledger), "the command")
    ring.kill("first")
    ring.replan("task", "cancel", f"T{task}")
    (pid,) = map(int, lines(ledger))
    assert running(pid)
    assert "worker" in ring.replan("task", "report", f"T{task}").stdout
    ring.worker("executor", name="second")
    ended = "SELECT 1 FROM attempts WHERE outcome = 'cancelled'"
    eventually(lambda: ring.rows(ended), "the end of what ran")
    assert not running(pid)
    assert "TERM" in ring.replan("task", "report", f"T{task}").stdout
    assert [row.outcome for row in ring.rows("SELECT outcome FROM attempts")] == ["cancelled"]
    assert len(lines(ledger)) == 1
    told = "SELECT kind FROM events WHERE kind IN ('CommandLeftRunning', 'CleanupFinished')"
    eventually(lambda: len(ring.rows(told)) == 2, "the clean-up in the events")


def test_one_command_can_be_ended_and_the_step_goes_on(
    ring: Ring, target: str, ledger: Path
) -> None:
    """It has failed, by an operator's hand; the next pass runs it again."""
    command = f"echo $$ >>{ledger}; [ $(wc -l <{ledger}) -gt 1 ] || sleep 300"
    ring.worker("executor")
    task = ring.submit(plan(step([command])), target)
    eventually(lambda: ring.rows("SELECT 1 FROM attempts WHERE outcome = 'running'"), "the start")
    ring.replan("attempt", "cancel", f"T{task}.1.1@{target}", "--wait")
    ring.ends(task)

    first, second = ring.rows("SELECT outcome, reason, counted FROM attempts ORDER BY id")
    assert (first.outcome, first.counted, second.outcome) == ("failed", True, "ok")
    assert first.reason.startswith("ended by an operator")
    assert not running(int(lines(ledger)[0]))


def many(folder: Path, number: int) -> Plan:
    """A task that appends to a ledger of its own."""
    return plan(step([f"echo {n} >>{folder}/ledger-{number}; sleep 0.1" for n in range(5)]))


def test_fifty_tasks_outlive_broker_and_database(
    breakable_ring: Ring, breakable: Breakable, tmp_path: Path
) -> None:
    """Must show 6: the broker gone and emptied, Postgres restarted at once."""
    torn = breakable_ring
    torn.coordinator()
    for number in (1, 2):
        torn.worker("executor", name=f"executor-{number}")
    tasks = [torn.submit(many(tmp_path, number), "localhost") for number in range(50)]
    eventually(lambda: torn.scalar("SELECT count(*) FROM attempts") > 10, "the first commands")

    def all_done() -> bool:
        with suppress(Transient):  # the database is away for a moment
            return bool(torn.scalar("SELECT bool_and(phase = 'done') FROM tasks"))
        return False

    breakable.stop_broker()
    breakable.restart_database_at_once()
    breakable.start_broker()
    breakable.empty_broker()
    eventually(all_done, "the end of all", patience=120)
    assert torn.scalar("SELECT count(*) FROM tasks") == len(tasks) == 50
    ledgers = [(tmp_path / f"ledger-{number}").read_text().split() for number in range(50)]
    assert ledgers == [[str(n) for n in range(5)]] * 50
