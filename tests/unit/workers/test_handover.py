"""A worker that must stop gives its jobs back, also those that nothing can interrupt."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from workers.process import handover
from workers.process.handover import Handover


class Process:
    """A worker with one job in hand, which ends when it is told to, or never."""

    def __init__(self, *, heeds: bool) -> None:
        given_up = threading.Event()
        job = SimpleNamespace(id=7, kind=SimpleNamespace(value="plan"))
        self.hold = SimpleNamespace(job=job, given_up=given_up)
        self.heeds = heeds
        self.closed = False
        self.told: list[str] = []

    @property
    def taken(self) -> int:
        return 0 if self.heeds and self.hold.given_up.is_set() else 1

    def close(self) -> None:
        self.closed = True

    def in_hand(self) -> list[Any]:
        return [self.hold] if self.taken else []

    def let_go(self, hold: Any) -> None:
        self.told.append(f"let go {hold.job.id}")

    def give_back(self, job: Any) -> None:
        self.told.append(f"gave back {job.id}")


def stop(process: Any) -> list[str]:
    """Stop that worker; what it logs as left behind."""
    made = Handover(process, process, process, grace=0.0, leave=lambda: process.told.append("left"))
    with capture_logs() as logged:
        made.start()
        made.close()
    return [entry["kind"] for entry in logged if entry["event"] == "job_left_behind"]


@pytest.fixture(autouse=True)
def _no_parting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handover, "PARTING", 0.2)


def test_a_job_that_ends_when_told_is_nobodys_to_give_back() -> None:
    process = Process(heeds=True)
    assert stop(process) == []
    assert process.closed
    assert process.told == []


def test_a_job_that_nothing_can_interrupt_is_given_back_and_left() -> None:
    process = Process(heeds=False)
    assert stop(process) == ["plan"]
    assert process.told == ["let go 7", "gave back 7", "left"]
