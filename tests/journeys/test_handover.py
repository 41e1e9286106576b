"""A worker that is told to stop: others have its work within seconds."""

import os
import select
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.domain.config import Policy
from tests.journeys.plans import appending, plan, step
from tests.services.ring import Ring, eventually

COUNT = 30
GRACE = 1.0
SECONDS = 60.0
"""What "within seconds" is held to: far below the leases, far above what a busy machine needs."""


@pytest.fixture
def lasting(ring: Ring) -> Ring:
    """A ring whose leases last: nobody comes by a job because one has run out."""
    ring.extra.update(
        REPLAN_LEASE="300", REPLAN_HEARTBEAT="1", REPLAN_SHUTDOWN_GRACE=str(GRACE), REPLAN_POLL="60"
    )
    ring.extra["REPLAN_LIVENESS"] = "600"
    return ring


def numbers(ledger: Path) -> list[int]:
    """What the commands appended."""
    return [int(line) for line in ledger.read_text().split()] if ledger.exists() else []


def held(command: str, gate: Path) -> str:
    """That command, begun once the gate is there."""
    return f"until test -e '{gate}'; do sleep 0.05; done; {command}"


def owner(ring: Ring) -> int | None:
    """The process that has the only open job."""
    name = ring.scalar("SELECT owner FROM jobs WHERE state = 'open'")
    return int(name.partition("@")[0].rpartition(".")[2]) if name else None


def listening(ring: Ring, name: str) -> bool:
    return '"worker_started"' in ring.log(name)


def told_to_stop(ring: Ring, name: str) -> float:
    """Send it SIGTERM; returns when."""
    os.kill(ring.processes[name].pid, signal.SIGTERM)
    return time.monotonic()


def test_another_worker_has_the_job_within_seconds(lasting: Ring, tmp_path: Path) -> None:
    ledger, ready, claimed = tmp_path / "ledger", tmp_path / "ready", tmp_path / "claimed"
    commands = appending(str(ledger), COUNT, pause=0.2)
    commands[5] = held(commands[5], ready)
    commands[-1] = held(commands[-1], claimed)
    lasting.coordinator()
    lasting.worker("executor", name="first")
    task = lasting.submit(plan(step(commands)), "localhost")
    eventually(lambda: len(numbers(ledger)) == 5, "five commands")
    lasting.worker("executor", name="second")
    second = lasting.processes["second"].pid
    eventually(lambda: listening(lasting, "second"), "the second worker")
    told = told_to_stop(lasting, "first")
    ready.touch()
    eventually(lambda: owner(lasting) == second, "the second worker's claim")
    took = time.monotonic() - told
    assert took > GRACE * 0.9
    assert len(numbers(ledger)) > 5  # it went on with it for the grace
    claimed.touch()
    assert lasting.processes["first"].wait(SECONDS) == 0
    lasting.ends(task)
    assert list(dict.fromkeys(numbers(ledger))) == list(range(1, COUNT + 1))
    assert lasting.scalar("SELECT max(claims) FROM jobs") == 1
    workers = lasting.rows("SELECT DISTINCT worker FROM attempts WHERE outcome = 'ok'")
    assert len(workers) == 2
    print(f"claimed by the second worker {took - GRACE:.2f} s after the grace")


def test_what_ends_within_the_grace_is_reported_by_the_one_who_did_it(
    lasting: Ring, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    lasting.extra["REPLAN_SHUTDOWN_GRACE"] = str(SECONDS)
    lasting.coordinator()
    lasting.worker("executor", name="first")
    task = lasting.submit(plan(step([f"echo > {begun}; sleep 1.5"])), "localhost")
    eventually(begun.exists, "the command")
    told_to_stop(lasting, "first")
    lasting.ends(task)
    assert lasting.processes["first"].wait(SECONDS / 2) == 0  # no longer than it took
    assert lasting.scalar("SELECT count(*) FROM attempts") == 1


def test_it_takes_no_new_job(lasting: Ring, tmp_path: Path) -> None:
    """Neither from the broker nor from the database, while it still goes on with an old one."""
    begun = tmp_path / "begun"
    lasting.extra.update(
        REPLAN_SHUTDOWN_GRACE=str(SECONDS), REPLAN_POLL="0.2", REPLAN_LIVENESS="600"
    )
    lasting.coordinator()
    lasting.worker("executor", name="first")
    old = lasting.submit(plan(step([f"echo > {begun}; sleep 4"])), "localhost")
    eventually(begun.exists, "the command")
    told_to_stop(lasting, "first")
    eventually(lambda: "worker_stopping" in lasting.log("first"), "the signal")
    new = lasting.submit(plan(step(["true"])), "localhost")
    lasting.ends(old)
    assert lasting.processes["first"].wait(SECONDS) == 0
    assert lasting.scalar("SELECT claims FROM jobs WHERE task_id = :id", id=new) == 0
    lasting.worker("executor", name="second")
    lasting.ends(new)


class SilentModel:
    """A model that takes every question and never answers."""

    def __init__(self, server: socket.socket) -> None:
        self._server = server
        self.url = f"http://127.0.0.1:{server.getsockname()[1]}"
        self._questions: list[socket.socket] = []

    def hears_another(self) -> bool:
        """Whether somebody has connected since the last time that this was true."""
        if not select.select([self._server], [], [], 0)[0]:
            return False
        self._questions.append(self._server.accept()[0])
        return True

    def is_hung_up(self) -> bool:
        """Whether the last who connected has closed the connection."""
        question = self._questions[-1]
        question.setblocking(False)
        try:
            while question.recv(65536):
                pass
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        for question in self._questions:
            question.close()


@pytest.fixture
def silent_model() -> Iterator[SilentModel]:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        model = SilentModel(server)
        yield model
        model.close()


def test_a_question_to_a_model_that_is_silent_is_given_back(
    lasting: Ring, silent_model: SilentModel
) -> None:
    """Its connection is closed, and another planner asks."""
    lasting.extra.update(
        ANTHROPIC_API_KEY="none",
        REPLAN_ANTHROPIC_BASE_URL=silent_model.url,
        REPLAN_RING_AGAIN="60",
    )
    lasting.coordinator()
    lasting.worker("planner", name="first")
    lasting.submit(None, "localhost", policy=Policy(planner="anthropic"))
    first = lasting.processes["first"].pid
    eventually(silent_model.hears_another, "the question")
    assert owner(lasting) == first
    told_to_stop(lasting, "first")
    eventually(silent_model.is_hung_up, "the end of the question")
    assert lasting.processes["first"].wait(SECONDS) == 0
    assert "job_left_behind" not in lasting.log("first")
    assert owner(lasting) is None
    lasting.worker("planner", name="second")
    second = lasting.processes["second"].pid
    eventually(silent_model.hears_another, "the second worker's question")
    assert owner(lasting) == second
    os.kill(second, signal.SIGKILL)
