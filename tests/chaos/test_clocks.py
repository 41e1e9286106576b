"""A clock that is stepped is seen by whoever asks for the time, and by nothing else."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.chaos.clocks import GROUPS, Clock, make_clock
from tests.services.availability import not_possible_here

HOUR = 3600


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    """One that goes right."""
    made = make_clock(tmp_path, "test")
    return made or not_possible_here("no C compiler makes the library that sets clocks")


def shown(clock: Clock, *words: str) -> float:
    """The time that a program prints, as seconds from now."""
    environ = {**os.environ, **clock.environ}
    done = subprocess.run(words, env=environ, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return float(done.stdout) - time.time()


PROGRAMS = pytest.mark.parametrize(
    "words",
    [
        ("date", "+%s"),
        (sys.executable, "-c", "import time; print(time.time())"),
        (sys.executable, "-c", "import datetime as d; print(d.datetime.now().timestamp())"),
    ],
    ids=["date", "time", "datetime"],
)


@PROGRAMS
@pytest.mark.parametrize("seconds", [0, HOUR, -HOUR])
def test_programs_see_the_step(clock: Clock, words: tuple[str, ...], seconds: int) -> None:
    clock.step(seconds, *GROUPS)
    assert abs(shown(clock, *words) - seconds) < 10


def test_only_one_group_of_processes_sees_its_step(clock: Clock) -> None:
    clock.step(HOUR, 0)
    odd = "import os, time; print(time.time() if os.getpid() % 2 else time.time() - 3600)"
    assert abs(shown(clock, sys.executable, "-c", odd)) < 10


def test_waiting_takes_no_longer(clock: Clock) -> None:
    clock.step(HOUR, *GROUPS)
    began = time.monotonic()
    waits = "import threading, time; threading.Event().wait(0.1); time.sleep(0.1); print(0)"
    shown(clock, sys.executable, "-c", waits)
    assert time.monotonic() - began < 10
