"""Faults after which nobody may know how a command ended: its keeper, its host or its disk is gone.

They do something as soon as there is what they look for on a host: a process that keeps commands
(`keepers`), a folder with records of them (`RECORDS`). Until then they find nothing, are counted as
not injected, and are no part of what a campaign must have injected (`phases.NOT_YET`).
"""

import random
import subprocess
from pathlib import Path
from typing import Final
from uuid import uuid4

from tests.chaos.faults import Fault, Injected
from tests.chaos.stage import Stage
from tests.chaos.stage_host import StageHost
from tests.services.processes import kill, marked

KEEPER: Final = "REPLAN_KEEPER=1"
"""What a process on a host that keeps commands has in its environment."""

RECORDS: Final = ".replan"
"""Its folder with records, in the account's home."""

BOOT_ID: Final = "/proc/sys/kernel/random/boot_id"
ANOTHER_BOOT: Final = 3.0
DISK_FULL: Final = 5.0


def keepers(host: StageHost) -> list[int]:
    """The processes on a host that keep commands."""
    ours = set(marked(f"REPLAN_TEST_SERVER={host.server.token}"))
    return sorted(ours.intersection(marked(KEEPER)))


def _keeper_killed(stage: Stage, chance: random.Random) -> Injected | None:
    kept = [(host, pid) for host in stage.hosts for pid in keepers(host)]
    if not kept:
        return None
    host, pid = chance.choice(kept)
    kill([pid])
    return Injected(host=host.name)


def _booted_anew(stage: Stage, chance: random.Random) -> Injected | None:
    host = chance.choice(stage.hosts)
    if not (host.server.home / RECORDS).exists():
        return None
    another = host.server.folder / "boot_id"
    another.write_text(f"{uuid4()}\n")
    if not _mount(host, "--bind", str(another), BOOT_ID):
        return None
    return Injected(lambda: _unmount(host, BOOT_ID), ANOTHER_BOOT, host.name)


def _disk_full(stage: Stage, chance: random.Random) -> Injected | None:
    host = chance.choice(stage.hosts)
    records = host.server.home / RECORDS
    if not records.exists():
        return None
    size = f"size=4k,mode=700,uid={host.server.account.uid},gid={host.server.account.uid}"
    if not _mount(host, "-t", "tmpfs", "-o", size, "tmpfs", str(records)):
        return None
    return Injected(lambda: _unmount(host, str(records)), DISK_FULL, host.name)


def _mount(host: StageHost, *words: str) -> bool:
    return _as_host(host, "mount", *words)


def _unmount(host: StageHost, place: str) -> None:
    _as_host(host, "umount", "--lazy", place)


def _as_host(host: StageHost, *words: str) -> bool:
    """Whether a command went well in the mounts that only that server and its commands see."""
    listener = host.server.pid
    if listener is None or not host.server.account.prefix:
        return False
    space = f"--mount={Path('/proc') / str(listener) / 'ns' / 'mnt'}"
    done = subprocess.run(
        ("nsenter", space, "--", *words), capture_output=True, check=False, timeout=10
    )
    return done.returncode == 0


FAULTS: Final = (
    Fault("keeper of a command killed", _keeper_killed, allows_unknown=True),
    Fault("host booted anew", _booted_anew, allows_unknown=True),
    Fault("host's disk full", _disk_full, allows_unknown=True),
)
