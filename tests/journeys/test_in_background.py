"""`replan up --detach`, `logs` and `down`: a stack that needs no terminal."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.embedded.folder import holder_of
from tests.journeys.answers import REPLAN, accepted
from tests.services.processes import kill, marked, running
from tests.services.ring import eventually

LONG = """
steps:
  - title: Take long
    subtasks:
      - run: sleep 60
"""


class Home:
    """The account of somebody who types commands, and what runs in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.data = folder, folder / "data"
        self._mark = f"REPLAN_UP_OF_TEST={folder}"
        self.environ = {
            **{k: v for k, v in os.environ.items() if not k.startswith("REPLAN_")},
            "HOME": str(folder),
            "REPLAN_DATA_DIR": str(self.data),
            "REPLAN_UP_OF_TEST": str(folder),
        }

    def begin(self, *words: str) -> "subprocess.Popen[str]":
        """Type a command, and do not wait for its end."""
        return subprocess.Popen(
            [*REPLAN, *words],
            env=self.environ,
            cwd=self.folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def said(self, *words: str, code: int = 0) -> str:
        """What a command said, which ended with that code."""
        process = self.begin(*words)
        told, _ = process.communicate()
        assert process.returncode == code, told
        return told

    def answer(self, *words: str) -> dict[str, Any]:
        """The answer of a command, as a value."""
        return accepted(self.said(*words, "--format", "min-json"))

    def everything(self) -> list[int]:
        """All that was started from here, and runs."""
        return [pid for pid in marked(self._mark) if running(pid)]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """Nothing of it is left running afterwards."""
    home = Home(tmp_path)
    yield home
    kill(home.everything())


def test_a_stack_in_the_background_is_found_killed_and_stopped(home: Home) -> None:
    """Of two that start it at once, one does. A kill leaves nothing that is in the way."""
    two = [home.begin("up", "--detach", "--format", "min-json") for _ in range(2)]
    told = {process.communicate()[0]: process.returncode for process in two}
    assert sorted(told.values()) == [0, 2], told
    (up, refused) = (accepted(text) for text in sorted(told, key=lambda text: told[text]))
    holder = up["details"]["pid"]
    assert holder_of(home.data) == holder
    assert f"as process {holder}" in refused["reason"]
    assert os.getsid(holder) == holder, "it ends with the session of its terminal"

    following = home.begin("logs", "up", "--follow")
    assert following.stdout is not None
    assert json.loads(following.stdout.readline())["event"] == "process_started"
    family = home.everything()
    os.kill(holder, signal.SIGKILL)
    eventually(lambda: not any(running(pid) for pid in family if pid != following.pid), "its end")
    assert "nothing runs in" in home.said("down")
    following.send_signal(signal.SIGINT)
    following.communicate()
    assert following.returncode == 0

    quiet = home.folder / "quiet.toml"
    quiet.write_text('[server]\nlog_level = "warning"\n')
    begun = home.said("up", "--detach", "--config", str(quiet))
    assert begun.startswith("up in the background")
    assert home.said("logs", "executor-1").count("worker_started") == 1, "before, not now"
    long = home.folder / "long.yaml"
    long.write_text(LONG)
    home.said("task", "submit", "--plan", str(long), "--local")
    eventually(lambda: "T1.1.1#1@localhost" in home.said("attempt", "list", "T1"), "its command")
    stopped = home.answer("down")["details"]
    assert stopped["tasks"] == [{"ref": "T1", "phase": "running"}]
    assert stopped["commands"] == [{"ref": "T1.1.1#1@localhost", "command": "sleep 60"}]
    assert holder_of(home.data) is None
    assert not (home.data / "connection.toml").exists()
    assert home.answer("down")["details"]["pid"] is None


def test_what_keeps_it_from_starting_is_said_where_it_was_typed(home: Home) -> None:
    """And nothing of it goes on."""
    home.environ |= {
        "REPLAN_DATABASE_URL": "postgresql://127.0.0.1:1/none",
        "REPLAN_BROKER_URL": "redis://127.0.0.1:1/0",
    }
    told = home.said("up", "--detach", code=4)
    assert "127.0.0.1" in told
    assert "next: " in told
    assert home.everything() == []
