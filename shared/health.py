"""Signs of life: each part of a process touches a file regularly, and a check reads their ages.

    python -m shared.health      0 if every part gave a sign lately, else 1 and the silent parts

The check runs every few seconds beside every process, so this module knows only the standard
library and loads at once.
"""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from shared.domain.errors import Misconfigured
from shared.domain.next_step import ShellCommand

FOLDER = "REPLAN_PULSE_DIR"
"""The environment variable that names the folder; without it no signs are written."""

SILENCE = 60.0
"""Seconds after which a silent part counts as stuck."""


class Pulse:
    """The signs of life of one process in a folder of its own; with None it does nothing.

    Every part counts as silent until it has beaten once. Raises Misconfigured when the folder
    cannot be written.
    """

    def __init__(self, folder: Path | None, *parts: str) -> None:
        self._folder = folder
        if folder is not None:
            _begin(folder, parts)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str], *parts: str) -> "Pulse":
        """The pulse in the folder that the environment names."""
        named = environ.get(FOLDER, "").strip()
        return cls(Path(named) if named else None, *parts)

    def beat(self, part: str) -> None:
        """Note that the part has just done its work. Never raises: a missing sign is the alarm."""
        if self._folder is not None:
            with contextlib.suppress(OSError):
                os.utime(self._folder / part)

    def beats(self, part: str) -> Callable[..., None]:
        """`beat` of that part, for whoever calls back; arguments are ignored."""
        return lambda *_, **__: self.beat(part)


def _begin(folder: Path, parts: Iterable[str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for part in parts:
            _write_no_sign(folder, part)
    except OSError as error:
        raise Misconfigured(
            f"{FOLDER}={folder}: signs of life cannot be written: {error.strerror}",
            stage="config",
            next_step=ShellCommand(f"mkdir -p {folder}"),
        ) from error


def _write_no_sign(folder: Path, part: str) -> None:
    """Put the file of a silent part in its place at once: a new file would be a sign of life."""
    unseen = folder / f".{part}"
    unseen.touch()
    os.utime(unseen, (0, 0))
    unseen.replace(folder / part)


def silent(folder: Path, *, limit: float = SILENCE) -> list[str]:
    """One sentence for each part that was silent for `limit` seconds; none if all is well."""
    try:
        parts = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
        signs = [(path.name, path.stat().st_mtime) for path in parts]
    except OSError as error:
        return [f"{folder}: {error.strerror}"]
    if not signs:
        return [f"{folder}: no part has started"]
    now = time.time()
    return [_describe(name, now - heard, heard) for name, heard in signs if now - heard > limit]


def _describe(name: str, age: float, heard: float) -> str:
    return f"{name}: no sign of life {f'for {age:.0f} s' if heard else 'yet'}"


def main() -> int:
    """The exit code of the check."""
    named = os.environ.get(FOLDER, "").strip()
    complaints = silent(Path(named)) if named else [f"{FOLDER} is not set"]
    sys.stdout.writelines(f"{line}\n" for line in complaints)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
