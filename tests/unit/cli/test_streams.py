"""Output on a terminal or a pipe of any encoding: no traceback, and JSON stays JSON."""

import io
import json
import os
import subprocess
import sys

import pytest

from orchestrator.cli.streams import make_lenient

VERBS = (
    ("doctor",),
    ("guard", "check", "echo ✓ … 😀 | wc"),
    ("guard", "rules", "git"),
    ("config", "show"),
    ("task", "submit", "x ✗ 😀", "--local", "--wait"),
    ("secret", "check"),
    ("task", "--help"),
    ("task", "lst"),
)


def replan(encoding: str, *words: str) -> "subprocess.CompletedProcess[bytes]":
    """The command line in a process of its own, whose streams have that encoding."""
    code = "import sys; from orchestrator.cli.main import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        env={**os.environ, "PYTHONIOENCODING": encoding, "HOME": "/nonexistent", "COLUMNS": "200"},
        capture_output=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("encoding", ["latin-1", "ascii:strict"])
@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_every_encoding_can_be_written_to(words: tuple[str, ...], encoding: str) -> None:
    """Signs that it does not have are written as others."""
    done = replan(encoding, *words)
    assert b"Traceback" not in done.stderr + done.stdout
    assert b"defect" not in done.stderr + done.stdout
    assert done.stdout + done.stderr
    (done.stdout + done.stderr).decode(encoding.partition(":")[0])


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
def test_json_says_the_same_in_every_encoding(encoding: str) -> None:
    """No sign is lost on a program that reads."""
    done = replan(encoding, "guard", "check", "--format", "min-json", "echo ✓ é 😀")
    assert json.loads(done.stdout.decode(encoding))["details"]["command"] == "echo ✓ é 😀"


@pytest.mark.parametrize(
    ("encoding", "written"),
    [
        ("utf-8", "✓ é … 😀"),
        ("latin-1", "ok é ... \\U0001f600"),
        ("ascii", "ok \\xe9 ... \\U0001f600"),
    ],
)
def test_a_sign_keeps_its_meaning(encoding: str, written: str) -> None:
    """A yes is not a question mark, as a no would be."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    make_lenient(stream)
    stream.write("✓ é … 😀")
    stream.flush()
    assert stream.buffer.getvalue().decode(encoding) == written
