"""The fixtures that every test may ask for: real services, started once and ended with the run."""

import gc
import logging
import signal
from collections.abc import Iterator

import pytest
import structlog

pytest_plugins = (
    "tests.services.databases",
    "tests.services.redis_server",
    "tests.services.ring",
    "tests.services.breakable",
    "tests.services.sshd",
    "tests.services.failover",
)


def pytest_configure() -> None:
    """What tests start would inherit signals that a parallel run or `nohup` ignores."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection() -> None:
    """What is collected stays until the end: nothing is gained by looking through it for waste."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Never look through it later, either."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def logs_of_its_own() -> Iterator[None]:
    """A service that a test has run in this process set logs up, on a stream that is closed now."""
    yield
    root = logging.getLogger()
    for handler in list(root.handlers):
        if isinstance(handler.formatter, structlog.stdlib.ProcessorFormatter):
            root.removeHandler(handler)
    structlog.reset_defaults()
