"""Where an act comes from: a person at a terminal, a process without one, or a job of replan."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

ATTEMPT: Final = "REPLAN_ATTEMPT"
"""The variable that the runner gives to every command, and that its processes inherit."""

_PROC: Final = Path("/proc")
_INIT: Final = 1


class OriginKind(StrEnum):
    """What kind of process acts."""

    TERMINAL = "terminal"
    PROCESS = "process"  # no terminal: a script, cron, a service
    JOB = "job"  # a command or an agent that replan itself runs


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an act comes from; of a job, `attempt` names the attempt."""

    kind: OriginKind
    attempt: str = ""


def origin_of_process(
    environ: Mapping[str, str] | None = None, *, pid: int | None = None, proc: Path = _PROC
) -> Origin:
    """The origin of a process (default: this one).

    It is a job if its environment, or that with which it or one of its ancestors began, names an
    attempt. Where a system has no /proc, only its own environment counts. A job that leaves its
    ancestors and clears its environment is not recognised: see docs/approvals.md.
    """
    own = os.environ if environ is None else environ
    process = os.getpid() if pid is None else pid
    if attempt := own.get(ATTEMPT) or _inherited_attempt(process, proc):
        return Origin(OriginKind.JOB, attempt.rpartition("/")[2])
    return Origin(OriginKind.TERMINAL if _has_terminal() else OriginKind.PROCESS)


def _inherited_attempt(pid: int, proc: Path) -> str:
    marker = f"{ATTEMPT}=".encode()
    for each in _with_ancestors(pid, proc):
        try:
            variables = (proc / str(each) / "environ").read_bytes().split(b"\0")
        except OSError:
            continue  # of another account
        for variable in variables:
            if variable.startswith(marker) and len(variable) > len(marker):
                return variable[len(marker) :].decode(errors="replace")
    return ""


def _with_ancestors(pid: int, proc: Path) -> Iterator[int]:
    seen: set[int] = set()
    while pid >= _INIT and pid not in seen:
        yield pid
        seen.add(pid)
        try:
            status = (proc / str(pid) / "stat").read_text(errors="replace")
            pid = int(status.rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return


def _has_terminal() -> bool:
    try:
        os.close(os.open(os.ctermid(), os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
