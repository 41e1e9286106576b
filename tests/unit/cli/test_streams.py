"""Output on a terminal or a pipe of any encoding: no traceback, and JSON stays JSON."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from orchestrator.cli.main import main
from orchestrator.cli.streams import make_lenient

VERBS = (
    ("doctor",),
    ("guard", "check", "echo ✓ … 😀 | wc"),
    ("guard", "rules", "git"),
    ("config", "show"),
    ("task", "submit", "x ✗ 😀", "--local", "--wait"),
    ("secret", "check"),
    ("logs", "✗ 😀"),
    ("down",),
    ("task", "--help"),
    ("task", "lst"),
)


def begun(encoding: str, *words: str) -> "subprocess.CompletedProcess[bytes]":
    """The command line in a process of its own, whose streams have that encoding."""
    code = "import sys; from orchestrator.cli.main import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        env={**os.environ, "PYTHONIOENCODING": encoding, "HOME": "/nonexistent", "COLUMNS": "200"},
        capture_output=True,
        check=False,
    )


Written = Callable[..., bytes]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Written:
    """What the command line writes here, on streams as a process with that encoding has them."""
    monkeypatch.setenv("HOME", "/nonexistent")
    monkeypatch.setenv("COLUMNS", "200")

    def run(encoding: str, *words: str) -> bytes:
        name, _, errors = encoding.partition(":")
        sinks = {stream: io.BytesIO() for stream in ("stdout", "stderr")}
        usual = {"stdout": "strict", "stderr": "backslashreplace"}
        files = {
            stream: io.TextIOWrapper(sink, name, errors or usual[stream], write_through=True)
            for stream, sink in sinks.items()
        }
        with monkeypatch.context() as patch:
            for stream, file in files.items():
                patch.setattr(sys, stream, file)
            main(list(words))
        return b"".join(sink.getvalue() for sink in sinks.values())

    return run


@pytest.mark.parametrize("encoding", ["latin-1", "ascii:strict"])
@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_every_encoding_can_be_written_to(
    words: tuple[str, ...], encoding: str, written: Written
) -> None:
    """Signs that it does not have are written as others."""
    told = written(encoding, *words)
    assert told
    assert b"Traceback" not in told
    assert b"defect" not in told
    told.decode(encoding.partition(":")[0])


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
def test_json_says_the_same_in_every_encoding(encoding: str) -> None:
    """No sign is lost on a program that reads."""
    done = begun(encoding, "guard", "check", "--format", "min-json", "echo ✓ é 😀")
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
