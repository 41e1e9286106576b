"""Finding the processes that a test left running, and ending them."""

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path


def descendants(pid: int, *, deep: bool = True) -> list[tuple[int, str]]:
    """The living children of a process, if `deep` their children and so on, each with its name."""
    children: dict[int, list[tuple[int, str]]] = {}
    for entry in processes():
        with contextlib.suppress(OSError, ValueError):
            head, _, tail = (entry / "stat").read_text(errors="replace").rpartition(")")
            state, parent = tail.split()[:2]
            if state != "Z":
                name = head.partition("(")[2]
                children.setdefault(int(parent), []).append((int(entry.name), name))
    found = list(children.get(pid, []))
    for child, _ in found if deep else ():
        found.extend(children.get(child, []))
    return found


def marked(setting: str) -> list[int]:
    """The processes with `setting` (name=value) in the environment they were started with."""
    found = []
    for entry in processes():
        with contextlib.suppress(OSError):
            if setting.encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def owned_by(uid: int) -> list[int]:
    """The processes of a user."""
    found = []
    for entry in processes():
        with contextlib.suppress(OSError):
            if entry.stat().st_uid == uid:
                found.append(int(entry.name))
    return found


def running(pid: int) -> bool:
    """Whether a process exists and has not ended: one that nobody has reaped yet has ended."""
    if not Path("/proc/self").exists():
        try:
            os.kill(pid, 0)
        except OSError:
            return False
        return True
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}


def kill(pids: Iterable[int], *, within: float = 5.0) -> None:
    """Kill processes and return when they have ended."""
    waiting = list(pids)
    for pid in waiting:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + within
    while any(running(pid) for pid in waiting) and time.monotonic() < deadline:
        time.sleep(0.01)


def processes() -> list[Path]:
    """The entries of the running processes, on systems that list them as files."""
    return [entry for entry in Path("/proc").glob("[0-9]*") if entry.name.isdigit()]
