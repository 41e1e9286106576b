"""The whole ring when Postgres falls silent, or accepts no writes: it goes on, and says why."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from sqlalchemy import make_url

from tests.journeys.plans import plan, step
from tests.services.databases import execute, of_database
from tests.services.proxy import Proxy
from tests.services.ring import Ring, eventually

STANDS_STILL = 30.0
"""Seconds after new connections work within which the work goes on."""

SILENT = 6.0


@pytest.fixture
def linked(link: Proxy, database_url: str, broker_url: str, tmp_path: Path) -> Iterator[Ring]:
    """A ring whose processes reach the database over the link, with the ordinary timeouts."""
    over = make_url(database_url).set(port=link.port).render_as_string(hide_password=False)
    direct = Ring(database_url, broker_url, tmp_path)
    direct.extra.update(
        REPLAN_DATABASE_URL=over, REPLAN_LEASE="45", REPLAN_HEARTBEAT="15", REPLAN_POLL="10"
    )
    yield direct
    direct.stop()


def count(path: Path) -> int:
    return len(path.read_text().split()) if path.exists() else 0


def passed(seconds: float) -> Callable[[], bool]:
    until = monotonic() + seconds
    return lambda: monotonic() > until


def entries(ring: Ring, name: str) -> list[dict[str, Any]]:
    """What the log of a process says."""
    return [json.loads(line) for line in ring.log(name).splitlines() if line.startswith("{")]


def test_swallowed_connections_stop_the_ring_for_half_a_minute_at_most(
    linked: Ring, link: Proxy, tmp_path: Path
) -> None:
    """Nothing runs twice, and the processes stay."""
    ring, done = linked, tmp_path / "done"
    ring.coordinator()
    ring.worker("executor")
    steps = [step([f"echo {n} >> {done}; sleep 0.2" for n in range(10)], ordinal=1)]
    steps += [
        step([f"echo {s}.{n} >> {done}" for n in range(3)], ordinal=s, depends_on=(s - 1,))
        for s in (2, 3, 4)
    ]
    task = ring.submit(plan(*steps), "localhost")
    eventually(lambda: count(done) >= 2, "the first commands")
    assert link.swallow() > 0
    eventually(passed(SILENT), "the silence")
    link.pass_on()
    began = monotonic()
    ring.ends(task, patience=STANDS_STILL)
    print(f"ended {monotonic() - began:.1f} s after new connections worked")
    lines = done.read_text().split()
    assert len(lines) == len(set(lines)) == 19
    assert all(process.poll() is None for process in ring.processes.values())
    assert ring.scalar("SELECT count(*) FROM interventions") == 0
    for name in ring.processes:
        assert "Traceback" not in ring.log(name)


def test_the_command_line_says_that_the_database_is_silent(linked: Ring, link: Proxy) -> None:
    linked.replan("task", "list")
    link.swallow()
    began = monotonic()
    told = linked.replan("task", "list", "--format", "min-json", check=4)
    assert monotonic() - began < STANDS_STILL
    answer = json.loads(told.stdout)
    assert "does not answer" in answer["reason"]
    assert answer["next_step_cmd"] == "replan config show database_url"


def test_a_read_only_database_is_waited_for_quietly(
    ring: Ring, database_url: str, tmp_path: Path
) -> None:
    """A failover to a standby: sessions end, and the next ones cannot write."""
    name = make_url(database_url).database
    assert name
    done = tmp_path / "done"
    ring.extra["REPLAN_POLL"] = "0.5"
    ring.coordinator()
    ring.worker("executor")
    tasks = [
        ring.submit(
            plan(step([f"echo {t}.{n} >> {done}; sleep 0.1" for n in range(9)])), "localhost"
        )
        for t in range(8)
    ]
    eventually(lambda: count(done) >= 4, "the first commands")
    execute(database_url, "ALTER DATABASE {} SET default_transaction_read_only = on", name)
    execute(
        database_url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    ring.database.close()
    eventually(passed(10.0), "the standby's time")
    found = {check["check"]: check for check in doctor(ring)}
    assert "read-only" in found["database"]["reason"]
    refused = json.loads(
        ring.replan("task", "cancel", f"T{tasks[0]}", "--format", "min-json", check=4).stdout
    )
    assert "read-only" in refused["reason"]
    assert "REPLAN_TRACEBACK" not in refused["next_step_cmd"]
    execute(of_database(database_url, "postgres"), "ALTER DATABASE {} RESET ALL", name)
    execute(
        database_url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    for task in tasks:
        ring.ends(task)
    lines = done.read_text().split()
    assert len(lines) == len(set(lines)) == 72
    for each in ring.processes:
        log = ring.log(each)
        assert "Traceback" not in log
        assert "Defect" not in log
        told = entries(ring, each)
        assert sum(entry["event"] == "job_put_back" for entry in told) < 25
    assert any("read-only" in str(entry.get("reason")) for entry in entries(ring, "coordinator"))


def doctor(ring: Ring) -> list[dict[str, Any]]:
    """What `doctor` finds."""
    done = ring.replan("doctor", "--format", "min-json", check=None)
    found: list[dict[str, Any]] = json.loads(done.stdout)["details"]["findings"]
    return found
