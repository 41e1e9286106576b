"""Planner and executor are killed between the rounds of looks of one revision."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shared.domain.config import Policy
from tests.fakes.model_server import ModelServer, Says, model_server
from tests.services.ring import Ring, eventually
from tests.unit.planning.given import (
    detail_answer,
    plan_answer,
    revision_answer,
    step_answer,
    subtask_answer,
)

PLANNERS = ("planner", "subtask_planner", "escalation")


@pytest.fixture
def model(ring: Ring) -> Iterator[ModelServer]:
    """The scripted model of the ring."""
    with model_server() as server:
        ring.extra |= server.environ
        yield server
        ring.stop()


def _look(command: str) -> Says:
    return Says({"looks": [{"command": command, "why": "to know", "host": ""}]})


def _opened(ring: Ring, kind: str, count: int) -> Callable[[], bool]:
    """Whether so many jobs of that kind were opened."""
    query = "SELECT count(*) = :count FROM jobs WHERE kind = :kind"
    return lambda: bool(ring.scalar(query, kind=kind, count=count))


def test_killed_between_the_rounds_nobody_asks_or_looks_twice(
    ring: Ring, model: ModelServer, tmp_path: Path
) -> None:
    """Two rounds, then the revision: three questions are paid for, and each look is one attempt."""
    mend = subtask_answer("mend", f"echo mended >> '{tmp_path}/ledger'")
    model.will(
        Says(plan_answer(step_answer("one"))),
        Says(detail_answer(subtask_answer("fail", "exit 9"))),
        _look("echo first look"),
        _look("echo second look"),
        Says(revision_answer(mend)),
    )
    ring.coordinator()
    ring.worker(*PLANNERS)
    ring.worker("executor")
    rules = Policy(auto_correction_enabled=False)
    task = ring.submit(None, "localhost", policy=rules, prompt="mend it")
    eventually(_opened(ring, "gather", 1), "the evidence being asked for")
    ring.kill("executor")
    for rounds in (1, 2):
        eventually(_opened(ring, "look", rounds), f"round {rounds} being asked for")
        ring.kill("planner")
        ring.worker("executor")
        eventually(_opened(ring, "revise", rounds + 1), f"round {rounds} being taken")
        ring.kill("executor")
        ring.worker(*PLANNERS)
    ring.worker("executor")
    ring.ends(task)

    assert (tmp_path / "ledger").read_text() == "mended\n"
    assert len(model.of("RevisionAnswer")) == 3
    assert model.unused() == 0
    last = model.of("RevisionAnswer")[-1].said[0]
    assert last.count("$ echo first look") == last.count("$ echo second look") == 1
    looked = ring.rows("SELECT number, command, outcome FROM attempts WHERE look ORDER BY id")
    assert looked == [(1, "echo first look", "ok"), (2, "echo second look", "ok")]
    assert ring.rows("SELECT kind, count(*) FROM jobs GROUP BY kind ORDER BY kind") == [
        ("detail", 1),
        ("execute", 2),
        ("gather", 1),
        ("look", 2),
        ("plan", 1),
        ("revise", 3),
    ]
    bill = ring.rows(
        "SELECT count(*), sum(input_tokens), sum(output_tokens), count(cost) FROM model_calls"
    )
    assert bill == [(5, 500, 50, 5)]
