"""We report once, in our own words, what paramiko would log about a lost connection."""

import logging
from collections.abc import Iterator
from io import StringIO

import pytest

from shared.logs import configure_logs
from workers.shells.remote.transport import _quieten


@pytest.fixture
def as_it_was() -> Iterator[None]:
    """The loggers that a service sets up, untouched, and put back afterwards."""
    root, paramiko = logging.getLogger(), logging.getLogger("paramiko")
    before = root.level, list(root.handlers), paramiko.level
    paramiko.setLevel(logging.NOTSET)
    yield
    root.setLevel(before[0])
    root.handlers[:] = before[1]
    paramiko.setLevel(before[2])


@pytest.mark.usefixtures("as_it_was")
@pytest.mark.parametrize("level", ["debug", "info", "error"])
def test_a_service_logs_nothing_of_paramiko(level: str) -> None:
    """Its tracebacks come line by line, an entry each."""
    out = StringIO()
    configure_logs(level, out)
    _quieten()
    logging.getLogger("paramiko.transport").error("Traceback (most recent call last):")
    assert not out.getvalue()
