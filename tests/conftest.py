"""The fixtures that every test may ask for: real services, started once and ended with the run."""

import gc
import logging
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from xdist.remote import Producer

from tests.schedule import WaitingBesideComputing

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
    os.environ["PATH"] = with_programs_first(os.environ["PATH"])


def with_programs_first(path: str) -> str:
    """The same folders, and last those whose `python3` is a script.

    Version managers put such scripts there. Each call starts a dozen processes to find out which
    Python is meant, and commands of tests call it by its name hundreds of times.
    """
    return os.pathsep.join(sorted(path.split(os.pathsep), key=_has_script_for_python))


def _has_script_for_python(folder: str) -> bool:
    found = shutil.which("python3", path=folder) if folder else None
    if found is None:
        return False
    with Path(found).open("rb") as program:
        return program.read(2) == b"#!"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(
    config: pytest.Config, log: Producer
) -> WaitingBesideComputing | None:
    """Whole files, in the order in which a parallel run is over soonest."""
    if config.getvalue("dist") != "loadfile":
        return None
    return WaitingBesideComputing(config, log)


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
