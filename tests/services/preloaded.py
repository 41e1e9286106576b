"""Processes of the product that begin with its modules loaded.

A test of the ring starts several processes, and loading costs each of them more processor time than
what the test is about. Here they are forked from one process that has loaded everything and done
nothing else. How a process begins by itself is for the tests that start it as people do.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext, ForkServerProcess
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from tempfile import TemporaryDirectory

MODULES = (
    "__main__",
    "orchestrator.cli.main",
    "orchestrator.cli.coordinator_commands",
    "orchestrator.wiring",
    "workers.__main__",
    "workers.run",
    "workers.wiring",
    "paramiko",
    "billiard.pool",
    "celery.app.control",
    "celery.app.log",
    "celery.apps.worker",
    "celery.backends.base",
    "celery.concurrency.thread",
    "celery.fixups.django",
    "celery.worker.autoscale",
    "celery.worker.components",
    "celery.worker.consumer",
    "celery.worker.consumer.delayed_delivery",
    "encodings.idna",
    "kombu.matcher",
    "kombu.pidbox",
    "kombu.transport.redis",
    "pydantic.dataclasses",
    "tests.services.read_before",
)
MAINS = {"orchestrator": "orchestrator.cli.main", "workers": "workers.__main__"}
ROOT = Path(__file__).parents[2]


class Preloaded:
    """A process, with as much of `subprocess.Popen` as tests need."""

    def __init__(self, process: ForkServerProcess) -> None:
        self._process = process
        if process.pid is None:
            raise AssertionError("a started process has a number")
        self.pid = process.pid

    @property
    def returncode(self) -> int | None:
        """Its exit code, below 0 when a signal ended it; None while it runs."""
        return self.poll()

    def poll(self) -> int | None:
        """The same."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code once it has ended; raises TimeoutExpired."""
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


def start(
    package: str,
    arguments: Sequence[str],
    *,
    environ: Mapping[str, str],
    out: Path,
    err: Path,
    given: Path = Path(os.devnull),
) -> Preloaded:
    """Start `python -m package arguments` in a session of its own, and in the current folder.

    `out` and `err` are appended to; `given` is its standard input.
    """
    for path in (out, err):
        path.touch()
    files = (str(given), str(out), str(err))
    process = _forking().Process(
        target=_begin,
        args=(MAINS[package], list(arguments), dict(environ), files, str(Path.cwd())),
        daemon=True,
    )
    process.start()
    return Preloaded(process)


def run(
    package: str,
    arguments: Sequence[str],
    *,
    environ: Mapping[str, str],
    given: str = "",
    patience: float,
) -> subprocess.CompletedProcess[str]:
    """What `python -m package arguments` printed, once it has ended.

    Raises TimeoutExpired after `patience` seconds.
    """
    with TemporaryDirectory() as folder:
        told, out, err = (Path(folder, name) for name in ("given", "out", "err"))
        told.write_text(given)
        process = start(package, arguments, environ=environ, out=out, err=err, given=told)
        try:
            code = process.wait(patience)
        finally:
            process.kill()
        return subprocess.CompletedProcess(arguments, code, out.read_text(), err.read_text())


@cache
def _forking() -> ForkServerContext:
    """The context whose processes are forked from the one that has loaded everything."""
    context = get_context("forkserver")
    context.set_forkserver_preload(list(MODULES))
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), before)))
    try:
        ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    return context


def _begin(
    module: str,
    arguments: list[str],
    environ: dict[str, str],
    files: tuple[str, str, str],
    folder: str,
) -> None:
    os.setsid()
    os.chdir(folder)
    for number, path in enumerate(files):
        appending = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        file = os.open(path, appending if number else os.O_RDONLY, 0o644)
        os.dup2(file, number)
        os.close(file)
    sys.stdin = os.fdopen(0, closefd=False)
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = [module, *arguments]
    sys.exit(import_module(module).main(arguments))
