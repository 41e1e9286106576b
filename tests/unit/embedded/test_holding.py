"""Who holds a data folder is known exactly, whoever else looks."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from orchestrator.embedded.folder import HeldFolder, end_holder, holder_of
from orchestrator.embedded.stack import run_stack
from shared.domain.errors import Misconfigured
from tests.services.processes import running

HOLDER = """
import sys, time
from pathlib import Path
from orchestrator.embedded.folder import HeldFolder
with HeldFolder(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_holder_is_named_as_long_as_it_holds(tmp_path: Path) -> None:
    assert holder_of(tmp_path / "nothing") is None
    with HeldFolder(tmp_path):
        assert holder_of(tmp_path) == os.getpid()
        with pytest.raises(Misconfigured, match=f"as process {os.getpid()}"):
            HeldFolder(tmp_path).__enter__()
    assert holder_of(tmp_path) is None


def test_a_holder_that_is_asked_ends(tmp_path: Path) -> None:
    words = (sys.executable, "-c", HOLDER, str(tmp_path))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, **pipes) as process:  # type: ignore[call-overload]
        process.stdout.readline()
        assert holder_of(tmp_path) == process.pid
        assert end_holder(tmp_path, process.pid, 10)
    assert not running(process.pid)
    assert holder_of(tmp_path) is None


def test_a_number_that_was_left_behind_names_nobody(tmp_path: Path) -> None:
    """It is another process by now: it is not ended for what somebody else holds."""
    (tmp_path / "lock").write_text(f"{os.getppid()}\n")
    assert holder_of(tmp_path) is None
    with HeldFolder(tmp_path):
        (tmp_path / "lock").write_text(f"{os.getppid()}\n")
        with pytest.raises(Misconfigured, match="not noted its number"):
            holder_of(tmp_path)


def test_who_looks_keeps_nobody_from_holding(tmp_path: Path) -> None:
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            holder_of(tmp_path)

    lookers = [threading.Thread(target=look) for _ in range(2)]
    for thread in lookers:
        thread.start()
    try:
        for _ in range(50):
            with HeldFolder(tmp_path):
                assert holder_of(tmp_path) == os.getpid()
    finally:
        stop.set()
        for thread in lookers:
            thread.join()


def test_a_stack_on_servers_of_others_holds_its_folder_too(tmp_path: Path) -> None:
    nowhere = ("postgresql+psycopg://127.0.0.1:1/none", "redis://127.0.0.1:1/0")
    stack = run_stack(tmp_path, {}, existing=nowhere)
    with HeldFolder(tmp_path), pytest.raises(Misconfigured, match="already runs in"), stack:
        pytest.fail("two use one folder")
