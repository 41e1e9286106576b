"""The watch of a runner takes the middle out of long output, and loses nothing of the end."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.services.availability import not_possible_here
from workers.shells.remote.runner_text import text

LONG = 3_000_000


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """An output file that is too long, and programs during which more is written to it."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("tail", "fallocate"):
        program = programs / name
        real = shutil.which(name) or "false"
        program.write_text(
            f'#!/bin/sh\necho before >>"$FILE"\n{real} "$@"\ncode=$?\n'
            'echo after >>"$FILE"\nexit $code\n'
        )
        program.chmod(0o755)
    file = tmp_path / "pass.o.1"
    file.write_bytes(b"first\n" + b"x" * LONG + b"\nlast\n")
    return file


def function(name: str) -> str:
    """A function of the runner's text."""
    found = re.search(rf"^{name}\(\) {{.*?}}$", text(), re.MULTILINE | re.DOTALL)
    assert found
    return found[0]


def trim(output: Path, *, collapses: bool = True) -> None:
    """Let the watch trim the file; where said so, with nothing that takes the middle out."""
    without = "" if collapses else "fallocate() { false; }\n"
    path = f"{output.parent / 'programs'}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        [
            "sh",
            "-c",
            f"{function('size_of')}\n{function('trim')}\n{without}trim {str(output)[:-4]}",
        ],
        env={"PATH": path, "FILE": str(output if collapses else os.devnull)},
        check=True,
        stderr=subprocess.DEVNULL,
    )


def kept(output: Path) -> tuple[bytes, bytes, int]:
    """The head, what is left of the file with what stood before it, and the bytes cut out."""
    last = Path(f"{output}.last")
    before = last.read_bytes() if last.exists() else b""
    head = Path(f"{output}.head").read_bytes()
    return head, before + output.read_bytes(), int(Path(f"{output}.cut").read_text())


def test_what_is_written_during_a_trim_is_kept(output: Path, tmp_path: Path) -> None:
    """A command's last words are why it failed: they are not lost to the cap."""
    probe = tmp_path / "probe"
    probe.write_bytes(b"x" * 131_072)
    program = shutil.which("fallocate")
    words = [program or "fallocate", "-c", "-o", "0", "-l", "65536", str(probe)]
    if program is None or subprocess.run(words, check=False, stderr=subprocess.DEVNULL).returncode:
        not_possible_here("this file system cannot take bytes out of a file")
    for _ in range(3):
        trim(output)
        with output.open("ab") as more:
            more.write(b"y" * LONG + b"\nmore\n")
    trim(output)
    head, end, cut = kept(output)
    assert head.startswith(b"first\nx")
    assert end.endswith(b"y\nmore\nbefore\nafter\n")
    assert len(end) >= 524_288
    written = 4 * (LONG + len(b"before\nafter\n")) + len(b"first\n\nlast\n") + 3 * len(b"\nmore\n")
    assert cut + len(end) == written
    assert output.stat().st_size < 1_048_576


def test_where_the_middle_cannot_be_taken_out_head_and_end_are_kept(output: Path) -> None:
    """As on a file system in memory."""
    trim(output, collapses=False)
    head, end, cut = kept(output)
    assert head.startswith(b"first\nx")
    assert end.endswith(b"x\nlast\n")
    assert cut == LONG + len(b"first\n\nlast\n")
