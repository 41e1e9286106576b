"""How processes end: with 0 if they were asked to stop, and with nothing else then."""

import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from orchestrator import wiring
from orchestrator.loops import Loop
from shared.domain.exits import ExitCode
from shared.settings import Settings, load_settings
from tests.services.refusing_broker import EVERY, RefusingBroker
from tests.services.ring import Ring, eventually
from workers import run
from workers.wiring import Worker


@pytest.fixture
def broker(broker_url: str) -> Iterator[RefusingBroker]:
    with RefusingBroker(broker_url) as opened:
        yield opened


@pytest.fixture
def running(database_url: str, broker: RefusingBroker, tmp_path: Path) -> Iterator[Ring]:
    """A coordinator and an executor that listen."""
    ring = Ring(database_url, broker.url, tmp_path)
    ring.coordinator()
    ring.worker("executor")
    eventually(lambda: "BRPOP" in broker.seen, "the worker listening")
    eventually(lambda: "coordinator_started" in ring.log("coordinator"), "the coordinator")
    yield ring
    ring.stop()


@pytest.fixture
def settings(database_url: str, broker_url: str, tmp_path: Path) -> Settings:
    return load_settings(
        {
            "REPLAN_DATABASE_URL": database_url,
            "REPLAN_BROKER_URL": broker_url,
            "REPLAN_DATA_DIR": str(tmp_path),
        }
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_who_is_asked_to_stop_ends_with_0(running: Ring, number: int) -> None:
    for name, process in running.processes.items():
        process.send_signal(number)
        assert process.wait(30) == 0, running.log(name)


@pytest.mark.parametrize("reply", ["READONLY a replica", "MASTERDOWN alone", "NOAUTH required"])
def test_they_stop_while_the_broker_refuses_everything(
    running: Ring, broker: RefusingBroker, reply: str
) -> None:
    broker.refuse(reply, EVERY)
    eventually(lambda: "broker_unusable" in running.log("executor"), "the refusal")
    for name, process in running.processes.items():
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0, running.log(name)


def test_whose_terminal_is_closed_does_not_end_with_0(running: Ring) -> None:
    for name, process in running.processes.items():
        process.send_signal(signal.SIGHUP)
        assert process.wait(30) == -signal.SIGHUP, running.log(name)


@pytest.mark.parametrize("asked", [True, False])
def test_a_worker_whose_consumer_ends_unasked_has_crashed(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, *, asked: bool
) -> None:
    def make(worker: Worker, *_: object) -> SimpleNamespace:
        return SimpleNamespace(start=worker.stop if asked else lambda: None)

    monkeypatch.setattr(run, "_make_celery_worker", make)
    code = run.run_worker(settings, ["executor"], threads=2)
    assert code is (ExitCode.DONE if asked else ExitCode.CRASHED)


@pytest.mark.parametrize("end", [SystemExit(0), KeyboardInterrupt(), None])
def test_a_coordinator_with_a_loop_that_ends_unasked_has_crashed(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, end: BaseException | None
) -> None:
    """Whatever ended it, the others end, too."""
    whole = Loop.run

    def run_loop(self: Loop) -> None:
        if self._name != "relay":
            whole(self)
        elif end is not None:
            raise end

    monkeypatch.setattr(Loop, "run", run_loop)
    assert wiring.run_coordinator(settings, threading.Event()) is ExitCode.CRASHED
