"""An environment of its own for each peer, made once and used again."""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PLACE: Final = ROOT / ".scratch" / "peers"
REQUIREMENTS: Final = Path(__file__).with_name("requirements")
PATIENCE: Final = 600.0
LONGEST_REASON: Final = 160

PLACES: Final = re.compile(r"\w+://\S+|(?<![\w.])/[\w.+-]+/[\w./+-]*")
"""Addresses, and paths of the machine."""


class NotInstalledError(Exception):
    """A peer that cannot be had here; the message says why."""


@dataclass(frozen=True, slots=True)
class Environment:
    """The environment of one peer, below `.scratch/peers`."""

    name: str

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return PLACE / self.name / "bin" / "python"

    @property
    def requirements(self) -> Path:
        """What it holds: pinned."""
        return REQUIREMENTS / f"{self.name}.txt"

    @property
    def versions(self) -> str:
        """What was asked for: the pins above the first empty line; below stands what they need."""
        asked, _, _ = self.requirements.read_text(encoding="utf-8").partition("\n\n")
        return ", ".join(line.replace("==", " ") for line in asked.splitlines())

    @property
    def is_ready(self) -> bool:
        """Whether it holds what the requirements say now."""
        try:
            return self._stamp.read_text(encoding="utf-8") == self._wanted
        except OSError:
            return False

    def install(self) -> None:
        """Make it; raises NotInstalledError with the installer's last words if that fails."""
        self._stamp.unlink(missing_ok=True)
        pip = (str(self.python), "-m", "pip", "--disable-pip-version-check", "--no-input")
        _run(sys.executable, "-m", "venv", "--clear", str(PLACE / self.name))
        _run(*pip, "install", "--quiet", "--requirement", str(self.requirements))
        self._stamp.write_text(self._wanted, encoding="utf-8")

    @property
    def _stamp(self) -> Path:
        return PLACE / self.name / ".installed"

    @property
    def _wanted(self) -> str:
        return self.requirements.read_text(encoding="utf-8")


def _run(*command: str) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalledError(f"cannot be installed here: {type(error).__name__}") from error
    if done.returncode != 0:
        raise NotInstalledError(f"cannot be installed here: {last_words(done.stderr)}")


def last_words(text: str) -> str:
    """The last line that speaks of an error, else the last, without addresses and paths."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    said = next(reversed(errors or lines), "no reason given")
    return PLACES.sub("…", said)[:LONGEST_REASON]
