"""A process that is split in two: one half waits for the word of the other, which then is alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.services.processes import kill, running

PROGRAM = """
import signal, sys
from pathlib import Path
from orchestrator.embedded.background import Foreground, split
from shared.domain.errors import Misconfigured, ReplanError
from shared.domain.next_step import NextStep

part = split(Path(sys.argv[1]))
if isinstance(part, Foreground):
    try:
        part.await_up()
        print("up", part.pid)
    except ReplanError as error:
        print(error.family, "|", error.stage, "|", error.reason, "|", error.next_step)
else:
    print("to the log", flush=True)
    exec(sys.argv[2])
"""
UP = "part.tell_up(); signal.pause()"
ENDS = "sys.exit(3)"
FAILS = """
part.tell_failure(Misconfigured("no room", stage="start", next_step=NextStep.of("doctor")))
sys.exit(2)
"""


def begun(log: Path, way: str, *handed_down: int) -> str:
    """What the half that waits says, once it has ended."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(log), way],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        pass_fds=handed_down,
    )
    return done.stdout.strip()


def test_the_other_half_goes_on_alone(tmp_path: Path) -> None:
    """In a session of its own, and with none of the files that this process has handed down."""
    log = tmp_path / "data" / "logs" / "up.log"
    end, handed_down = os.pipe()
    said = begun(log, UP, handed_down)
    os.close(handed_down)
    assert said.startswith("up ")
    other = int(said.removeprefix("up "))
    try:
        with os.fdopen(end, "rb") as file:
            assert file.read() == b""
        assert running(other)
        assert os.getsid(other) == other
        assert log.read_text() == "to the log\n"
        assert {path.stat().st_mode & 0o777 for path in (log.parent, log.parent.parent)} == {0o700}
    finally:
        kill([other])


@pytest.mark.parametrize(
    ("way", "said"),
    [
        (FAILS, "misconfigured | start | no room | NextStep(verb='doctor'"),
        (ENDS, "defect | start | the process in the background exited with 3 before it was up"),
        ("import os; os.kill(os.getpid(), 9)", "was killed by SIGKILL before it was up"),
    ],
)
def test_what_kept_the_other_half_from_it_is_said(way: str, said: str, tmp_path: Path) -> None:
    assert said in begun(tmp_path / "data" / "logs" / "up.log", way)
