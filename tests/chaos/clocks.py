"""Wall clocks of other processes, which a test may set: through a library loaded before theirs.

It proves what becomes of a process whose `time()` jumps. It does not touch the kernel: timers, the
times of files, and the clocks since the boot stay as they are, as does Postgres, whose clock counts
for leases.
"""

import shutil
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).with_name("clock.c")
GROUPS: Final = (0, 1)
"""Processes with even and with odd ids."""


@dataclass(frozen=True, slots=True)
class Clock:
    """The wall clock of all processes that are started with `environ`."""

    file: Path
    library: Path

    @property
    def environ(self) -> dict[str, str]:
        """What a process needs to go by it."""
        return {"LD_PRELOAD": str(self.library), "REPLAN_TEST_CLOCK": str(self.file)}

    def step(self, seconds: int, *groups: int) -> None:
        """Set it so many seconds forward from the right time, or back, for some processes."""
        with self.file.open("r+b") as file:
            for group in groups:
                file.seek(group * 8)
                file.write(struct.pack("q", seconds))


def make_clock(folder: Path, name: str) -> Clock | None:
    """One that goes right, readable for everybody; None where no C compiler is at hand."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        return None
    library, file = folder / "clock.so", folder / f"{name}.clock"
    if not library.exists():
        words = (compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE))
        subprocess.run(words, check=True, capture_output=True, timeout=60)
    file.write_bytes(struct.pack("qq", 0, 0))
    library.chmod(0o755)
    file.chmod(0o644)
    return Clock(file, library)
