"""A worker that is gone is missed long before its lease runs out; one that is there keeps its jobs.

The leases are the default ones, so that nothing here can come from the end of a lease.
"""

from pathlib import Path

import pytest

from tests.journeys.plans import plan, step
from tests.services.ring import Ring, eventually

LEASE = 45.0
SLEEP = 8
TASKS = 3


@pytest.fixture
def patient(ring: Ring) -> Ring:
    """A ring with a lease of 45 s and two executors."""
    ring.extra |= {"REPLAN_LEASE": f"{LEASE:g}", "REPLAN_HEARTBEAT": "15"}
    ring.coordinator()
    ring.worker("executor", name="executor-1")
    ring.worker("executor", name="executor-2")
    return ring


def submit(ring: Ring, folder: Path) -> list[Path]:
    """Submit tasks whose commands run for a while, each with a ledger; wait until all run."""
    ledgers = [folder / f"ledger-{number}" for number in range(TASKS)]
    for ledger in ledgers:
        ring.submit(
            plan(step([f"echo run >>{ledger}; sleep {SLEEP}; echo end >>{ledger}"])), "localhost"
        )
    eventually(lambda: all(ledger.exists() for ledger in ledgers), "the commands")
    running = "SELECT count(*) FROM attempts WHERE outcome = 'running'"
    eventually(lambda: ring.scalar(running) == TASKS, "their rows")
    return ledgers


def holder(ring: Ring) -> tuple[str, int, list[int]]:
    """An executor that has jobs in hand: its name, its process id and those jobs."""
    held = "SELECT id FROM jobs WHERE state = 'open' AND owner LIKE :owner"
    for name in ("executor-1", "executor-2"):
        pid = ring.processes[name].pid
        if found := ring.rows(held, owner=f"%.{pid}@%"):
            return name, pid, [row.id for row in found]
    raise AssertionError("nobody has a job in hand")


def done(ring: Ring) -> bool:
    """Whether every task is done."""
    return bool(ring.scalar("SELECT bool_and(phase = 'done') FROM tasks"))


def test_another_worker_takes_over_from_a_killed_one_long_before_its_lease_ends(
    patient: Ring, tmp_path: Path
) -> None:
    """S2.47: each command runs once, and the timeline names the worker that was lost."""
    ledgers = submit(patient, tmp_path)
    name, pid, lost = holder(patient)
    patient.kill(name)
    waits = "SELECT count(*) FROM jobs WHERE id = ANY(:ids) AND fence = 1"
    eventually(lambda: not patient.scalar(waits, ids=lost), "the next claims", LEASE / 2)
    eventually(lambda: done(patient), "the end of all tasks")
    assert [ledger.read_text().split() for ledger in ledgers] == [["run", "end"]] * TASKS
    told = patient.rows("SELECT body ->> 'worker' AS worker FROM events WHERE kind = 'WorkerLost'")
    assert len(told) == len(lost)
    assert {row.worker.partition("@")[0] for row in told} == {f"executor.{pid}"}


def test_no_job_changes_hands_when_all_connections_to_the_database_end(
    patient: Ring, tmp_path: Path
) -> None:
    """Every lock is free for a moment, as after a restart of the database."""
    ledgers = submit(patient, tmp_path)
    patient.rows(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    eventually(lambda: done(patient), "the end of all tasks")
    assert [ledger.read_text().split() for ledger in ledgers] == [["run", "end"]] * TASKS
    assert patient.scalar("SELECT max(fence) FROM jobs") == 1
    assert patient.rows("SELECT body FROM events WHERE kind = 'WorkerLost'") == []
