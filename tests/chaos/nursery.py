"""`python -m tests.chaos.nursery`: forks processes of the product that need import nothing more.

Each line of standard input is an order, {"command": [program, argument…], "log": path}; the answer
is a line with the process id. All of them end with this process, and this process with its input.
"""

import ctypes
import gc
import importlib
import json
import os
import signal
import sys
from typing import Final, NoReturn

NEEDED: Final = (
    "celery.app.amqp",
    "celery.apps.worker",
    "celery.concurrency.thread",
    "celery.worker.consumer.consumer",
    "celery.worker.strategy",
    "kombu.transport.redis",
    "orchestrator.cli.main",
    "orchestrator.cli.coordinator_commands",
    "orchestrator.wiring",
    "psycopg",
    "sqlalchemy.dialects.postgresql.psycopg",
    "workers.__main__",
    "workers.shells.remote.ssh",
    "workers.run",
    "workers.runbook.backend",
)

PR_SET_PDEATHSIG: Final = 1


def main() -> None:
    """Fork what is ordered until the input ends."""
    for module in NEEDED:
        importlib.import_module(module)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody has to reap them
    nursery = os.getpid()
    for line in iter(sys.stdin.readline, ""):
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            become(order["command"], order["log"], nursery)
        print(pid, flush=True)


def become(command: list[str], log: str, nursery: int) -> NoReturn:
    """Be a process of its own that runs a command of the product."""
    os.setsid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != nursery:
        os._exit(1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    redirect(log)
    sys.argv = command
    code: object = 1
    try:
        code = run(command)
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001 - what it would have said at its end
        sys.excepthook(*sys.exc_info())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


def run(command: list[str]) -> object:
    """What the program of that name does; the exit code, if it gives one."""
    program, *arguments = command
    if program == "workers":
        from workers.__main__ import main as start_worker

        return start_worker(arguments)
    from orchestrator.cli.main import main as replan

    return replan()


def redirect(log: str) -> None:
    """Standard input from nowhere, both outputs to the end of a file."""
    nowhere = os.open(os.devnull, os.O_RDONLY)
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(nowhere, 0)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(nowhere)
    os.close(file)


if __name__ == "__main__":
    main()
