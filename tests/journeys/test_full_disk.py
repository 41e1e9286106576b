"""The disk of the database is full: whoever asks is told so, and nothing is lost."""

import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.embedded.services import EmbeddedServices
from shared.store.migrate import upgrade
from tests.journeys.plans import plan, step
from tests.services.availability import needs_root, not_possible_here
from tests.services.disks import SmallDisk, small_disk
from tests.services.ring import Ring, eventually

FULL = "the disk of the database is full"
AWAY = 4
"""The exit code for something that may pass."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """The disk of a database that is not there yet."""
    with small_disk(tmp_path / "data" / "postgres", os.geteuid()) as made:
        yield made or not_possible_here("this container may not mount")


@pytest.fixture
def ring(disk: SmallDisk, tmp_path: Path) -> Iterator[Ring]:
    """A ring on a database with that disk."""
    with EmbeddedServices(disk.folder.parent, durable=False) as services:
        upgrade(services.database_url)
        made = Ring(services.database_url, services.broker_url, tmp_path)
        yield made
        made.stop()


def asked(ring: Ring, *arguments: str, code: int = 0) -> dict[str, Any]:
    """What a command answers, as a program reads it."""
    done = ring.replan(*arguments, "--format", "min-json", check=code)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@needs_root
def test_a_full_disk_is_told_and_what_ran_goes_on_when_there_is_room(
    ring: Ring, disk: SmallDisk, tmp_path: Path
) -> None:
    ledger, written = tmp_path / "ledger", tmp_path / "plan.yaml"
    # Pages that are there have room for a few rows: this needs pages of its own.
    command = f": {secrets.token_hex(30_000)}"
    written.write_text(f"steps:\n  - title: one\n    subtasks:\n      - command: '{command}'\n")
    submit = ("task", "submit", "--plan", str(written), "--local")
    ring.coordinator()
    ring.worker("executor")
    task = ring.submit(
        plan(step([f"echo {n} >>{ledger}; sleep 0.4" for n in range(20)])), "localhost"
    )
    eventually(ledger.exists, "the first command")
    assert disk.fill()

    refused = asked(ring, *submit, code=AWAY)
    assert FULL in refused["reason"]
    assert refused["next_step_cmd"] == "df -h"
    found = {each["check"]: each for each in asked(ring, "doctor", code=1)["details"]["findings"]}
    assert not found["database"]["ok"]
    assert FULL in found["database"]["reason"]
    assert "the disk of the embedded database is almost full: 0 MB" in found["disk"]["reason"]
    assert found["disk"]["next_step_cmd"] == f"df -h {disk.folder}"
    assert asked(ring, "task", "list")["ok"]

    assert disk.free()
    eventually(lambda: ring.replan(*submit, check=None).returncode == 0, "a submission")
    ring.ends(task)
    assert ledger.read_text().split() == [str(n) for n in range(20)]
