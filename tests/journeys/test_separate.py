"""The same over a genuine Redis: the coordinator and each worker role in a process of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.domain.config import Policy
from tests.services.ring import Ring

PROMPT = "Put the status service into operation in {folder} on port {port}"


@pytest.fixture
def separate(database_url: str, redis_url: str, tmp_path: Path) -> Iterator[Ring]:
    ring = Ring(database_url, redis_url, tmp_path)
    ring.coordinator()
    for role in ("taskmaster", "planner", "subtask_planner", "escalation"):
        ring.worker(role)
    ring.worker("executor", name="executor-1")
    ring.worker("executor", name="executor-2")
    yield ring
    ring.stop()


def test_a_known_job_is_planned_and_done(separate: Ring, tmp_path: Path) -> None:
    """D.4-D.6, D.10: planned, carried out and reported by specialised workers over Redis."""
    policy = Policy(planner="runbook", subtask_planner="runbook")
    folder = tmp_path / "site"
    task = separate.submit(
        None,
        "localhost",
        policy=policy,
        prompt=PROMPT.format(folder=folder, port=_free()),
    )
    try:
        separate.ends(task)
    finally:
        _end_service(folder)
    assert "http://127.0.0.1:" in (folder / "NOTE").read_text()
    kinds = separate.rows("SELECT kind, count(*) AS n FROM jobs GROUP BY kind ORDER BY kind")
    assert {row.kind: row.n for row in kinds} == {"execute": 3, "plan": 1}


def _free() -> int:
    from orchestrator.embedded.port import any_free

    return any_free()


def _end_service(folder: Path) -> None:
    from orchestrator.embedded.demo import end_service

    end_service(folder)
