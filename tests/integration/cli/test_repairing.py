"""`replan repair attempt`: each way of being stuck is brought about, found and cured (S2.89)."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from shared.store import jobs
from tests.integration.cli.calling import Cli
from tests.integration.cli.conftest import at_work
from tests.services import preloaded
from tests.services.ring import eventually
from tests.services.schemas import validate

PLAN = """
planner: human
steps:
  - title: Wait for the gate
    subtasks:
      - run: echo begun; echo x >>TRIES; until test -e GATE; do sleep 0.05; done; touch OVER
"""


@pytest.fixture
def environ(bare: Path, database_url: str, broker_url: str) -> dict[str, str]:
    """What a worker needs."""
    urls = {"REPLAN_DATABASE_URL": database_url, "REPLAN_BROKER_URL": broker_url}
    return {"HOME": str(bare), "PATH": "/usr/bin:/bin", **urls}


@pytest.fixture
def ref(coordinated: Cli, tmp_path: Path, environ: dict[str, str]) -> Iterator[str]:
    """A task whose command waits, and whose worker was killed meanwhile."""
    plan = tmp_path / "plan.yaml"
    text = PLAN
    for name in ("GATE", "TRIES", "OVER"):
        text = text.replace(name, str(tmp_path / name))
    plan.write_text(text)
    ref = coordinated.json("task", "submit", "--plan", plan, "--local")["details"]["ref"]
    with killed_worker(environ) as kill:
        running = "SELECT key FROM attempts WHERE outcome = 'running'"
        eventually(lambda: coordinated.rows(running), "the attempt")
        eventually(lambda: coordinated.rows("SELECT id FROM live_output"), "its output")
        kill()
    yield str(ref)
    (tmp_path / "GATE").touch()


@contextmanager
def killed_worker(environ: dict[str, str]) -> Iterator[Callable[[], object]]:
    """A worker in a process of its own, and what kills it."""
    out = Path(os.devnull)
    worker = preloaded.start("workers", ["start", "executor"], environ=environ, out=out, err=out)

    def kill() -> None:
        worker.send_signal(signal.SIGKILL)
        worker.wait(30)

    try:
        yield kill
    finally:
        kill()


def test_the_job_of_a_killed_worker_is_freed_and_its_command_runs_once(
    coordinated: Cli, ref: str, tmp_path: Path, environ: dict[str, str]
) -> None:
    """Its worker is gone; then its command has ended, too, and nobody has read that."""
    assert troubles(coordinated, ref) == [("worker_gone", "free_job", f"{ref}.1@localhost")]
    told = coordinated("repair", "attempt", f"{ref}.1.1")
    assert told.code == 1
    assert "its worker is gone" in told.out
    assert "begun" in told.out
    assert f"next: replan repair attempt {ref}.1.1 --apply" in told.out
    (tmp_path / "GATE").touch()
    eventually((tmp_path / "OVER").exists, "the end of the command")
    before = coordinated.everything()
    eventually(
        lambda: (
            ("finished_unread", "free_job", f"{ref}.1.1#1@localhost") in troubles(coordinated, ref)
        ),
        "the record of the end",
    )
    assert coordinated.everything() == before
    repaired = coordinated.json("repair", "attempt", f"{ref}.1", "--apply")["details"]
    assert repaired["applied"]
    (event,) = coordinated.rows("SELECT body FROM events WHERE kind = 'WorkerLost'")
    assert event.body["sign"] == "presence"
    with at_work(environ):
        assert coordinated.json("task", "watch", ref)["details"]["phase"] == "done"
    assert (tmp_path / "TRIES").read_text() == "x\n"
    assert coordinated.json("repair", "attempt", f"{ref}.1")["details"]["findings"] == []
    assert "nothing is wrong with" in coordinated("repair", "attempt", f"{ref}.1").out
    (entry,) = [
        each
        for each in coordinated.json("audit", "list")["details"]["entries"]
        if each["verb"] == "repair.attempt"
    ]
    assert entry["ref"] == f"{ref}.1@localhost"


@pytest.mark.changes_rows
def test_what_runs_and_counts_as_ended_is_ended(coordinated: Cli, ref: str, tmp_path: Path) -> None:
    """And an attempt that counts as running, with nobody at it, is closed."""
    coordinated.rows("UPDATE jobs SET state = 'done' RETURNING id")
    coordinated.rows("UPDATE attempts SET outcome = 'unknown', ended_at = now() RETURNING id")
    (found,) = findings(coordinated, ref)
    assert (found["trouble"], found["cure"]) == ("still_running", "end_processes")
    assert found["processes"]
    assert coordinated.json("repair", "attempt", f"{ref}.1", "--apply")["details"]["applied"]
    # A process that begins while the others are ended may outlive them by a tenth of a second.
    eventually(lambda: not findings(coordinated, ref), "the end of all processes")
    assert not (tmp_path / "OVER").exists()
    coordinated.rows("UPDATE attempts SET outcome = 'running', ended_at = NULL RETURNING id")
    assert [each["trouble"] for each in findings(coordinated, ref)] == ["nobody_at_it"]
    coordinated.json("repair", "attempt", f"{ref}.1", "--apply")
    (row,) = coordinated.rows("SELECT outcome FROM attempts")
    assert row.outcome == "unknown"


@pytest.mark.changes_rows
def test_a_job_is_taken_up_again_whoever_has_it(coordinated: Cli, ref: str, tmp_path: Path) -> None:
    """Too many workers have lost it; then one has it that does not read what has ended."""
    coordinated.rows("""
        UPDATE jobs SET claims = 20, lease_until = clock_timestamp() - interval '1 minute'
        RETURNING id
    """)
    assert troubles(coordinated, ref)[0][:2] == ("claims_exhausted", "free_job")
    doctor = coordinated.json("doctor", "--no-runners", code=1)["details"]["findings"]
    (stuck,) = [each for each in doctor if each["check"] == "stuck" and not each["ok"]]
    assert stuck["next_step_cmd"] == f"replan repair attempt {ref}.1@localhost --apply"
    coordinated.json("repair", "attempt", f"{ref}.1", "--apply")
    (job,) = coordinated.rows("SELECT id, claims, rung_at FROM jobs")
    assert (job.claims, job.rung_at) == (0, None)
    with coordinated.database.begin() as connection:
        (held,) = jobs.claim(connection, [job.id], "executor.silent/1", 600)
    (tmp_path / "GATE").touch()
    eventually(lambda: troubles(coordinated, ref), "the record of the end")
    assert troubles(coordinated, ref)[0][:2] == ("finished_unread", "take_job")
    coordinated.json("repair", "attempt", f"{ref}.1", "--apply")
    with coordinated.database.begin() as connection:
        assert jobs.held_ids(connection, [held.claim]) == set()
        assert jobs.claimable(connection, ["execution"], 1) == [job.id]


def troubles(cli: Cli, ref: str) -> list[tuple[str, str, str]]:
    """What is wrong with the step, what cures it, and with what."""
    return [(each["trouble"], each["cure"], each["ref"]) for each in findings(cli, ref)]


def findings(cli: Cli, ref: str) -> list[dict[str, Any]]:
    """What is wrong with the step."""
    said = cli("repair", "attempt", f"{ref}.1", "--format", "min-json")
    answer = json.loads(said.out)
    validate(answer)
    found: list[dict[str, Any]] = answer["details"]["findings"]
    assert said.code == (1 if found else 0)
    return found
