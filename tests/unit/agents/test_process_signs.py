"""What the processes of an attempt have used, read on the host that this test runs on."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from workers.agents.process_signs import ProcessSigns, read_signs, signs_script

KEY = "R1-1-r0-1-p1-t0"
BUSY = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo ready; read line"


@contextmanager
def running(stem: Path, key: str, text: str = BUSY) -> Iterator[None]:
    """A process of an attempt, once it has done its work; it waits until the block ends."""
    process = subprocess.Popen(
        ["sh", "-c", text],
        env={**os.environ, "REPLAN_ATTEMPT": f"{stem}/{key}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield
        process.kill()


def signs(record: str, key: str = KEY) -> ProcessSigns:
    """The signs of that attempt."""
    text = signs_script(record, key)
    asked = subprocess.run(["sh", "-c", text], capture_output=True, check=True)
    assert asked.stderr == b""
    return read_signs(asked.stdout)


def test_what_an_attempt_has_used_is_counted(tmp_path: Path) -> None:
    """With what it started in a session of its own; and not what belongs to another attempt."""
    record = f"a0/{uuid4().hex}"
    stem = tmp_path / f"{record}.1.claim"
    stem.parent.mkdir()
    stem.with_name(f"{stem.name}.o.3").write_bytes(b"")
    os.utime(f"{stem}.o.3", (1, 1))
    other = tmp_path / "a0" / uuid4().hex
    with running(stem, KEY), running(stem, f"{KEY}1"), running(other, KEY):
        found = signs(record)
        assert found.processes == 1
        assert found.cpu
        assert found.quiet is not None
        assert found.quiet > 1_000_000
        with running(stem, KEY, f"setsid sh -c '{BUSY}'"):
            more = signs(record)
    assert (more.processes or 0) > 1
    assert (more.cpu or 0) > found.cpu
    assert more.io


def test_an_attempt_without_processes_has_no_signs() -> None:
    assert signs(f"a0/{uuid4().hex}") == ProcessSigns(processes=0)


@pytest.mark.parametrize(
    ("printed", "found"),
    [
        (b"", ProcessSigns()),
        (b"processes 2\ncpu 1.50\nio 7\nquiet 3\n", ProcessSigns(2, 1.5, 7, 3.0)),
        (b"processes 2\ncpu 1,50\nawk: cannot open\nquiet -1\n", ProcessSigns(2, quiet=0.0)),
        (b"\xff\x00 1\nio 1e3", ProcessSigns(io=1000)),
    ],
)
def test_what_was_printed_is_read(printed: bytes, found: ProcessSigns) -> None:
    assert read_signs(printed) == found
