"""Text of others in a log steers no terminal on which the log is read."""

import json
import logging
import re
from collections.abc import Iterator
from io import BytesIO, StringIO, TextIOWrapper

import pytest
import structlog

from shared.logs import configure_logs
from shared.visible import visible

HOSTILE = "\x1b]52;c;b3duZWQ=\x07\x9b2J\u202eevil"


class Screen(StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        """It is one."""
        return True


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """The loggers as they were before."""
    root = logging.getLogger()
    before = root.level, list(root.handlers)
    yield
    root.setLevel(before[0])
    root.handlers[:] = before[1]
    structlog.reset_defaults()


@pytest.mark.parametrize("stream", [Screen(), StringIO()], ids=["terminal", "file"])
def test_what_a_host_says_is_written_out(stream: StringIO) -> None:
    configure_logs("info", stream)
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        structlog.get_logger().exception("job_crashed", reason=HOSTILE, parts=[HOSTILE])
    logging.getLogger("somebody").error(HOSTILE)
    said = stream.getvalue()
    assert "evil" in said
    said = re.sub(r"\x1b\[[0-9;]*m", "", said)  # the log's own colours
    assert visible(said) == said


def test_a_line_for_a_program_keeps_the_value() -> None:
    out = StringIO()
    configure_logs("info", out)
    structlog.get_logger().warning("job_failed", reason=HOSTILE)
    (line,) = out.getvalue().splitlines()
    assert visible(line) == line
    assert json.loads(line)["reason"] == HOSTILE


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "ascii"])
def test_a_line_is_json_in_every_encoding(encoding: str) -> None:
    """As standard error has them, which replaces what it cannot write."""
    out = TextIOWrapper(BytesIO(), encoding, "backslashreplace", write_through=True)
    configure_logs("info", out)
    structlog.get_logger().info("é ✓", reason="é ✓ 😀")
    line = json.loads(out.buffer.getvalue().decode())
    assert (line["event"], line["reason"]) == ("é ✓", "é ✓ 😀")
