"""A person's word on its way through processes of their own: asked, given, used once, kept."""

from pathlib import Path

import pytest

from benchmarks.stage import enrol
from shared.domain.plan import Plan
from tests.journeys.plans import plan, step
from tests.services.ring import Ring, eventually
from tests.services.sshd import SshServer


def undecided(folder: Path, line: str) -> Plan:
    """A plan of a command that the guard cannot decide: it reads commands from a file."""
    script = folder / "script.sh"
    script.write_text(f"{line}\n")
    script.chmod(0o644)
    return plan(step([f". {script}"]))


def test_a_command_waits_until_a_person_has_approved_it_and_is_done(
    ring: Ring, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger"
    ring.coordinator()
    ring.worker("executor")
    task = ring.submit(undecided(tmp_path, f"echo ran >> {ledger}"), "localhost")
    ring.ends(task, "waiting")
    assert not ledger.exists()

    shown = ring.replan("intervention", "show", "I1").stdout
    assert f". {tmp_path}/script.sh" in shown
    assert f"T{task}.1.1@localhost on localhost (this machine)" in shown
    assert "next: replan intervention approve I1" in shown
    ring.replan("intervention", "approve", "I1")
    ring.ends(task)
    assert ledger.read_text() == "ran\n"

    again = ring.replan("intervention", "approve", "I1", check=2)
    assert "already been answered: approved by" in again.stderr
    (row,) = ring.rows("SELECT scope, used_by FROM approvals")
    (tried,) = ring.rows("SELECT key FROM attempts WHERE outcome = 'ok'")
    assert (row.scope, row.used_by) == ("once", tried.key)


def test_a_word_outlives_every_process(ring: Ring, tmp_path: Path) -> None:
    """Given while nobody could use it; the executor that comes later does."""
    ledger = tmp_path / "ledger"
    ring.coordinator()
    ring.worker("executor")
    task = ring.submit(undecided(tmp_path, f"echo ran >> {ledger}"), "localhost")
    ring.ends(task, "waiting")
    ring.kill("executor")
    ring.replan("intervention", "approve", "I1")
    ring.kill("coordinator")
    assert not ledger.exists()
    ring.coordinator("coordinator-2")
    ring.worker("executor", name="executor-2")
    ring.ends(task)
    assert ledger.read_text() == "ran\n"


def test_a_killed_executor_s_successor_has_its_approval_and_starts_nothing_twice(
    ring: Ring, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger"
    ring.coordinator()
    ring.worker("executor", name="executor-1")
    line = f"echo run >> {ledger}; sleep 4; echo end >> {ledger}"
    task = ring.submit(undecided(tmp_path, line), "localhost")
    ring.ends(task, "waiting")
    ring.replan("intervention", "approve", "I1")
    eventually(ledger.exists, "the start of the command")
    ring.kill("executor-1")
    ring.worker("executor", name="executor-2")
    ring.ends(task)
    assert ledger.read_text() == "run\nend\n"
    assert ring.scalar("SELECT count(*) FROM approvals WHERE used_by IS NOT NULL") == 1


@pytest.mark.parametrize("scope", [(), ("--for-task",)], ids=["once", "for-task"])
def test_the_word_for_one_host_is_none_for_another(
    ring: Ring, sshd: SshServer, scope: tuple[str, ...]
) -> None:
    """The very same bytes in the very same task, here and over SSH."""
    enrol(ring.database, "web1", sshd)
    ring.coordinator()
    ring.worker("executor")
    task = ring.submit(plan(step(["eval $REPLAN_NOTHING true"])), "localhost", "web1")
    ring.ends(task, "waiting")
    waiting = eventually(
        lambda: (
            len(found := ring.rows("SELECT id, run_id FROM interventions ORDER BY run_id")) == 2
            and found
        ),
        "both questions",
    )
    ring.replan("intervention", "approve", f"I{waiting[0].id}", *scope)
    eventually(lambda: ring.scalar("SELECT phase FROM runs ORDER BY id LIMIT 1") == "done", "here")
    there = ring.rows("SELECT phase FROM runs ORDER BY id")[1]
    assert there.phase == "waiting"
    ring.replan("task", "resume", f"T{task}@web1", check=None)
    ring.ends(task, "waiting")
    assert ring.rows("SELECT outcome FROM attempts WHERE run_id = :r", r=waiting[1].run_id)[
        -1
    ].outcome == ("needs_approval")
