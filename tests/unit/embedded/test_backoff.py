"""The pauses of a supervised process, by a clock that the test moves."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from orchestrator.embedded import watched
from orchestrator.embedded.backoff import (
    FIRST_PAUSE,
    HEALTHY_AFTER,
    LONGEST_ONCE_READY,
    LONGEST_PAUSE,
    Backoff,
)
from orchestrator.embedded.watched import Child, ChildEvent, Watched


def test_the_pause_doubles_up_to_the_longest() -> None:
    backoff = Backoff()
    pauses = [backoff.pause(None) for _ in range(8)]
    assert pauses[:4] == pytest.approx([FIRST_PAUSE * 2**n for n in range(4)])
    assert pauses[-1] == LONGEST_PAUSE


def test_what_was_ready_before_it_died_soon_is_back_soon() -> None:
    backoff = Backoff()
    pauses = [backoff.pause(0.3) for _ in range(20)]
    assert pauses == sorted(pauses)
    assert pauses[-1] == LONGEST_ONCE_READY


def test_health_ends_the_pauses() -> None:
    backoff = Backoff()
    for _ in range(20):
        backoff.pause(None)
    assert backoff.pause(HEALTHY_AFTER) == 0.0
    assert backoff.pause(None) == FIRST_PAUSE


class Clock:
    """A clock that stands still until it is moved."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Program:
    """A process that runs until the test says how it ended."""

    started: Sequence["Program"] = ()

    def __init__(self) -> None:
        self.code: int | None = None
        self.pid = 1

    @classmethod
    def launch(cls, *_args: object, **_options: object) -> "Program":
        made = cls()
        cls.started = (*cls.started, made)
        return made

    def exit_code(self) -> int | None:
        return self.code


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, clock: Clock) -> Watched:
    """A child that is ready as soon as it is looked at."""
    monkeypatch.setattr(watched, "Process", Program)
    monkeypatch.setattr(Program, "started", ())
    events: list[ChildEvent] = []
    always = Child(name="one", argv=("true",), ready=lambda: True)
    made = Watched(always, tmp_path / "log", events.append, clock=clock)
    made.start()
    made.tick()
    assert made.condition == "ready"
    return made


def starts_again(child: Watched, clock: Clock) -> float:
    """Move the clock until it runs and is ready again; returns how long that took."""
    begun = clock.now
    runs = len(Program.started)
    while len(Program.started) == runs:
        child.tick()
        clock.now += 0.01
    child.tick()
    return clock.now - begun


@pytest.mark.parametrize("code", [0, 1, 2, 4, 70, 75, -9, -15])
def test_whatever_the_exit_code_it_starts_again(child: Watched, clock: Clock, code: int) -> None:
    clock.now += HEALTHY_AFTER
    Program.started[-1].code = code
    child.tick()
    assert starts_again(child, clock) < FIRST_PAUSE
    assert child.restarts == 1


def test_ten_kills_in_five_seconds_cost_a_second_each_at_most(child: Watched, clock: Clock) -> None:
    took = []
    for _ in range(10):
        clock.now += 0.1
        Program.started[-1].code = -9
        child.tick()
        took.append(starts_again(child, clock))
    assert max(took) < LONGEST_ONCE_READY + 0.1
    clock.now += HEALTHY_AFTER
    Program.started[-1].code = -9
    child.tick()
    assert starts_again(child, clock) < FIRST_PAUSE
