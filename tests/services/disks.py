"""A disk in memory at a folder, which can be full at any moment; only root may mount one."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOM: Final = 2 << 30
"""Bytes; memory is used only for what is written."""

MARGIN: Final = 4096
TRIES: Final = 20


@dataclass(frozen=True, slots=True)
class SmallDisk:
    """A file system of its own at `folder`."""

    folder: Path

    def fill(self) -> bool:
        """Leave no room for more than a page; False if it would not stand still."""
        for number in range(TRIES):
            found = os.statvfs(self.folder)
            used = (found.f_blocks - found.f_bfree) * found.f_frsize
            if self._resize(used + MARGIN * (1 << number)):
                return True
        return False

    def free(self) -> bool:
        """Have room again."""
        return self._resize(ROOM)

    def _resize(self, size: int) -> bool:
        return succeeds("mount", "-o", f"remount,size={size}", str(self.folder))


@contextlib.contextmanager
def small_disk(folder: Path, owner: int) -> Iterator[SmallDisk | None]:
    """Mount one at a folder for a user, which it then belongs to; None where that is forbidden."""
    options = f"size={ROOM},mode=700,uid={owner},gid={owner}"
    if sys.platform != "linux" or os.geteuid() != 0:
        yield None
        return
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not succeeds("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)):
        yield None
        return
    try:
        yield SmallDisk(folder)
    finally:
        succeeds("umount", "--lazy", str(folder))


def succeeds(*words: str) -> bool:
    """Whether a command went well."""
    try:
        done = subprocess.run(words, capture_output=True, check=False, timeout=20)
    except FileNotFoundError:
        return False
    return done.returncode == 0
