"""Streams of the real programs, as they were recorded against a scripted model."""

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parents[2] / "cases" / "agents"


def stream(name: str) -> bytes:
    """The standard output of one run, such as `claude-code/deferred`."""
    (path,) = FOLDER.glob(f"{name}.*")
    return path.read_bytes()


def names() -> list[str]:
    """All that were recorded; `.jsonl` for those that are nothing but JSON."""
    return sorted(str(path.relative_to(FOLDER).with_suffix("")) for path in FOLDER.rglob("*.*"))
