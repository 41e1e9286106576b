"""What the figures were taken on, without names or paths."""

import os
import platform
import subprocess
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from sqlalchemy import text

from benchmarks.stage import Stage


def describe(stage: Stage) -> dict[str, str]:
    """Cores, memory, kernel and versions, by name."""
    return {
        "cores": str(os.cpu_count()),
        "processor": processor(),
        "memory": memory(),
        "kernel": f"{platform.system()} {platform.release().partition('-')[0]}",
        "Python": platform.python_version(),
        "OpenSSH": openssh(stage),
        "Postgres": str(stage.scalar(text("SHOW server_version"))),
        "paramiko": version("paramiko"),
        "Celery": version("celery"),
    }


def processor() -> str:
    """Its model, where the system tells."""
    return _first_of("/proc/cpuinfo", "model name", lambda value: value) or platform.machine()


def memory() -> str:
    """All of it."""
    return _first_of("/proc/meminfo", "MemTotal", _gibibytes) or "unknown"


def openssh(stage: Stage) -> str:
    """The version of the servers; empty when they do not tell."""
    program = stage.sshd[0].program
    env = {**os.environ, **program.env}
    words = (str(program.sshd), "-V")
    done = subprocess.run(words, capture_output=True, text=True, env=env, check=False)
    return done.stderr.partition(",")[0].strip().removeprefix("OpenSSH_")


def _gibibytes(value: str) -> str:
    return f"{int(value.split(maxsplit=1)[0]) / 1024**2:.0f} GiB"


def _first_of(file: str, name: str, shown: Callable[[str], str]) -> str:
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    values = (line.partition(":")[2].strip() for line in lines if line.startswith(name))
    return next(map(shown, values), "")
