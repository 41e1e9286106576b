"""Faults after which nobody may know how a command ended: its runner or its host is gone."""

import contextlib
import os
import random
import signal
from pathlib import Path
from typing import Final
from uuid import uuid4

from tests.chaos.faults import Fault, Injected
from tests.chaos.stage import Stage
from tests.chaos.stage_host import StageHost
from tests.services.processes import kill, marked

BOOT_ID: Final = "/proc/sys/kernel/random/boot_id"


def runners(host: StageHost) -> list[int]:
    """The shells on a host that run commands: each leads its session."""
    return sorted(pid for pid in _started(host) if _leads(pid) and _is_sh(pid))


def _runner_killed(stage: Stage, chance: random.Random) -> Injected | None:
    found = [(host, pid) for host in stage.hosts for pid in runners(host)]
    if not found:
        return None
    host, pid = chance.choice(found)
    kill([pid])
    return Injected(host=host.name)


def _booted_anew(stage: Stage, chance: random.Random) -> Injected | None:
    """Everything that was started there is gone at once, and the kernel is another one."""
    host = chance.choice(stage.hosts)
    another = host.server.folder / "boot_id"
    another.write_text(f"{uuid4()}\n")
    if not host.mount("--bind", str(another), BOOT_ID):
        return None
    # A runner that outlived its command by a moment would note that a signal ended it.
    for pid in runners(host):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    kill(_started(host))
    return Injected(host=host.name)


def _no_mounts(stage: Stage) -> str | None:
    private = all(host.server.account.prefix for host in stage.hosts)
    return None if private else "only root may show a host another boot, in mounts of its own"


def _started(host: StageHost) -> list[int]:
    return marked(f"REPLAN_TEST_SERVER={host.server.token}")


def _leads(pid: int) -> bool:
    try:
        return os.getsid(pid) == pid
    except ProcessLookupError:
        return False


def _is_sh(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() == b"/bin/sh\0"
    except OSError:
        return False


FAULTS: Final = (
    Fault("runner killed", _runner_killed, allows_unknown=True),
    Fault("host booted anew", _booted_anew, allows_unknown=True, lacking=_no_mounts),
)
