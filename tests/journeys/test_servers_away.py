"""Servers that are not there yet, go away, and come back, and what the processes make of it."""

import json
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from shared.store.migrate import upgrade
from tests.journeys.plans import plan, step
from tests.services.breakable import Breakable
from tests.services.ring import Ring, eventually

BACK_WITHIN = 3.0
"""Seconds after which workers listen again to a broker that is back."""

TRIES = 3
"""A busy machine makes one of them long; a pause that grows makes all of them long."""


@pytest.fixture
def early(unmigrated: Breakable, tmp_path: Path) -> Iterator[Ring]:
    """A ring whose servers were stopped, and whose database has no tables."""
    ring = Ring(unmigrated.database_url, unmigrated.broker_url, tmp_path)
    unmigrated.stop_broker()
    unmigrated.stop_database()
    yield ring
    ring.stop()


def said(ring: Ring, name: str, event: str) -> list[dict[str, Any]]:
    """The entries of that event in the log of a process."""
    lines = [line for line in ring.log(name).splitlines() if line.startswith("{")]
    return [entry for entry in map(json.loads, lines) if entry["event"] == event]


def awaited(ring: Ring, name: str) -> list[str]:
    """What a process said it was waiting for."""
    return [entry["server"] for entry in said(ring, name, "waiting_for")]


def past(moment: float) -> bool:
    return time.monotonic() >= moment


def test_processes_started_before_their_servers_wait_for_them(
    early: Ring, unmigrated: Breakable, tmp_path: Path
) -> None:
    """Each in turn: no database, then no tables in it. They start without the broker."""
    early.coordinator()
    early.worker("executor")
    names = ("coordinator", "executor")
    for name in names:
        eventually(lambda n=name: awaited(early, n), f"{name} waiting")  # type: ignore[misc]
    unmigrated.start_database()
    for name in names:
        eventually(
            lambda n=name: any(  # type: ignore[misc]
                "at version none" in entry["reason"] for entry in said(early, n, "waiting_for")
            ),
            f"{name} waiting for the tables",
        )
    upgrade(unmigrated.database_url)
    for name in names:
        eventually(
            lambda n=name: said(early, n, "starts_without"),  # type: ignore[misc]
            f"{name} starting without the broker",
        )
    task = early.submit(plan(step([f"echo done > {tmp_path}/done"])), "localhost")
    early.ends(task)
    unmigrated.start_broker()
    eventually(lambda: unmigrated.waiting_clients() == 1, "the worker listening")
    assert all(process.poll() is None for process in early.processes.values())


def test_a_database_that_stays_away_ends_them_with_4_and_the_reason(
    breakable_ring: Ring, breakable: Breakable
) -> None:
    breakable_ring.extra["REPLAN_STARTUP_PATIENCE"] = "1"
    breakable.stop_database()
    breakable_ring.coordinator()
    breakable_ring.worker("executor")
    for name, process in breakable_ring.processes.items():
        assert process.wait(30) == 4, breakable_ring.log(name)
        last = [line for line in breakable_ring.log(name).splitlines() if line[:1] != "{"]
        assert "database" in " ".join(last)
        assert "refused" in " ".join(last)
        assert awaited(breakable_ring, name) == ["database"]


def test_tables_that_nobody_makes_are_the_operators(unmigrated: Breakable, tmp_path: Path) -> None:
    ring = Ring(unmigrated.database_url, unmigrated.broker_url, tmp_path)
    ring.extra["REPLAN_STARTUP_PATIENCE"] = "1"
    ring.coordinator()
    ring.worker("executor")
    try:
        for name, process in ring.processes.items():
            assert process.wait(30) == 2, ring.log(name)
            assert "replan db migrate" in ring.log(name)
    finally:
        ring.stop()


def test_a_process_told_to_stop_while_it_waits_stops(early: Ring) -> None:
    early.coordinator()
    early.worker("executor")
    for name, process in early.processes.items():
        eventually(partial(awaited, early, name), f"{name} waiting")
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def test_without_a_broker_the_work_goes_on(breakable_ring: Ring, breakable: Breakable) -> None:
    """A broker that stays dead costs time only: workers look for jobs themselves."""
    ring = breakable_ring
    ring.extra.update(REPLAN_POLL="0.5", REPLAN_LIVENESS="2")
    ring.coordinator()
    ring.worker("executor", name="one")
    ring.worker("executor", name="two")
    eventually(lambda: breakable.waiting_clients() == 2, "both workers listening")
    eventually(lambda: "coordinator_started" in ring.log("coordinator"), "the coordinator")
    breakable.stop_broker()
    tasks = [
        ring.submit(
            plan(step(["sleep 0.1"] * 3), step(["true"], ordinal=2, depends_on=(1,))), "localhost"
        )
        for _ in range(8)
    ]
    for task in tasks:
        ring.ends(task)
    assert ring.scalar("SELECT count(*) FROM attempts") == 32
    assert all(process.poll() is None for process in ring.processes.values())


def test_a_worker_has_no_more_in_hand_than_its_threads(ring: Ring, tmp_path: Path) -> None:
    """Whichever way the jobs came: the broker rings, and the worker looks ten times a second."""
    ring.extra.update(REPLAN_POLL="0.1", REPLAN_THREADS="4")
    ring.coordinator()
    ring.worker("executor")
    begun = tmp_path / "begun"
    command = f"echo + >> {begun}; sleep 0.3; echo - >> {begun}"
    tasks = [ring.submit(plan(step([command])), "localhost") for _ in range(20)]
    for task in tasks:
        ring.ends(task)
    at_once, most = 0, 0
    for line in begun.read_text().split():
        at_once += 1 if line == "+" else -1
        most = max(most, at_once)
    assert 2 <= most <= 4
    assert ring.scalar("SELECT max(claims) FROM jobs") == 1


def test_a_worker_cut_off_from_everything_says_why_and_ends(
    breakable_ring: Ring, breakable: Breakable
) -> None:
    ring = breakable_ring
    ring.extra.update(REPLAN_POLL="0.5", REPLAN_LIVENESS="4")
    ring.worker("executor")
    eventually(lambda: breakable.waiting_clients() == 1, "the worker listening")
    breakable.stop_broker()
    breakable.stop_database()
    assert ring.processes["executor"].wait(30) == 75, ring.log("executor")
    (told,) = said(ring, "executor", "worker_cut_off")
    assert "the broker cannot be reached" in told["queues"]
    assert "last heard" in told["queues"]
    assert "refused" in told["poll"]
    breakable.start_database()
    breakable.start_broker()


def test_a_job_in_hand_is_not_left_before_its_lease_has_run_out(
    breakable_ring: Ring, breakable: Breakable, tmp_path: Path
) -> None:
    """Until then nobody else may have it; after that others may, and it is of no use to stay."""
    lease, liveness = 6.0, 2.0
    ring = breakable_ring
    ring.extra.update(REPLAN_POLL="0.5", REPLAN_LIVENESS=str(liveness), REPLAN_LEASE=str(lease))
    ring.coordinator()
    ring.worker("executor")
    begun = tmp_path / "begun"
    ring.submit(plan(step([f"echo > {begun}; sleep 20"])), "localhost")
    eventually(begun.exists, "the command")
    breakable.stop_broker()
    breakable.stop_database()
    gone = time.monotonic()
    assert ring.processes["executor"].wait(30) == 75, ring.log("executor")
    assert time.monotonic() - gone > lease + liveness - 1
    breakable.start_database()
    breakable.start_broker()


def listening(ring: Ring, breakable: Breakable) -> None:
    """Start two workers that wait for the broker."""
    # What they poll must not hide that they do not listen.
    ring.extra.update(REPLAN_POLL="300", REPLAN_LIVENESS="600")
    ring.coordinator()
    ring.worker("executor", name="one")
    ring.worker("executor", name="two")
    eventually(lambda: breakable.waiting_clients() == 2, "both workers listening")


def away_and_back(ring: Ring, breakable: Breakable, seconds: float) -> float:
    """Stop the broker for so long; returns how long the workers then took to listen again."""
    breakable.stop_broker()
    task = ring.submit(plan(step(["true"])), "localhost")
    eventually(partial(past, time.monotonic() + seconds), "the broker's return", seconds + 10)
    breakable.start_broker()
    back = time.monotonic()
    eventually(lambda: breakable.waiting_clients() == 2, "both workers listening again")
    took = time.monotonic() - back
    print(f"away for {seconds:g} s; listening again after {took:.2f} s")
    ring.ends(task)
    return took


def test_a_broker_that_was_away_is_listened_to_at_once(
    breakable_ring: Ring, breakable: Breakable
) -> None:
    """Left alone, Celery pauses for 2, 4, 6 … seconds: it would look again 5 s after the return."""
    listening(breakable_ring, breakable)
    took = (away_and_back(breakable_ring, breakable, 7.0) for _ in range(TRIES))
    assert any(seconds < BACK_WITHIN for seconds in took)


@pytest.mark.slow
def test_a_broker_that_was_away_for_a_minute_is_listened_to_at_once(
    breakable_ring: Ring, breakable: Breakable
) -> None:
    """M6: the pauses do not grow with the outage."""
    listening(breakable_ring, breakable)
    assert away_and_back(breakable_ring, breakable, 65.0) < BACK_WITHIN
