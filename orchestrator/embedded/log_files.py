"""What the processes of a stack have written to their log files, as lines in their order."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

_SUFFIX: Final = ".log"
_TAIL: Final = 1_000_000
"""Bytes at the end of a file that are read of what was written before."""

_POSTGRES: Final = re.compile(r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+) UTC ")
_VALKEY: Final = re.compile(r"\d+:\w (?P<at>\d\d \w{3} \d{4} \d\d:\d\d:\d\d\.\d+) ")


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line as process `name` wrote it; `at` is None before the first line that says when."""

    name: str
    at: datetime | None
    text: str

    @property
    def event(self) -> dict[str, Any] | None:
        """The fields of the event that it is; None for a line that is none."""
        return _event(self.text)


@dataclass(slots=True)
class LogFiles:
    """The log files in a folder, each read once: first its end, then what is added."""

    folder: Path
    name: str | None = None
    _read: dict[str, "_LogFile"] = field(default_factory=dict)

    def names(self) -> tuple[str, ...]:
        """The processes that have written, whether they are asked for or not."""
        return tuple(sorted(path.stem for path in self.folder.glob(f"*{_SUFFIX}")))

    def new_lines(self) -> list[LogLine]:
        """The lines that were added since the last call, oldest first.

        Lines without a time follow the line of their file that they stand after.
        """
        found: list[LogLine] = []
        for name in self.names():
            if self.name in {None, name}:
                file = self._read.setdefault(name, _LogFile(self.folder / f"{name}{_SUFFIX}"))
                found += file.new_lines()
        return sorted(found, key=lambda line: line.at or datetime.min.replace(tzinfo=UTC))


@dataclass(slots=True)
class _LogFile:
    path: Path
    inode: int | None = None
    position: int = 0
    at: datetime | None = None
    rest: bytes = b""
    torn: bool = False
    """Whether the next line began before what is read."""

    def new_lines(self) -> Iterator[LogLine]:
        try:
            with self.path.open("rb") as file:
                self._find_place(os.fstat(file.fileno()))
                file.seek(self.position)
                added = file.read()
        except FileNotFoundError:
            return
        self.position += len(added)
        *lines, self.rest = (self.rest + added).split(b"\n")
        whole = lines[1:] if self.torn else lines
        self.torn = self.torn and not lines
        for line in whole:
            text = line.decode("utf-8", "replace")
            self.at = _moment(text) or self.at
            yield LogLine(self.path.stem, self.at, text)

    def _find_place(self, status: os.stat_result) -> None:
        """Begin near the end of a file that is new to us, and anew with one that was replaced."""
        if self.inode is None:
            self.position = max(0, status.st_size - _TAIL)
            self.torn = self.position > 0
        elif status.st_ino != self.inode or status.st_size < self.position:
            self.position, self.rest, self.torn = 0, b"", False
        self.inode = status.st_ino


def _event(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "event" in found else None


def _moment(text: str) -> datetime | None:
    """When a line was written, if it says so in the way of one of our processes or servers."""
    event = _event(text)
    try:
        if event is not None:
            return datetime.fromisoformat(str(event.get("timestamp"))).astimezone(UTC)
        if found := _POSTGRES.match(text):
            return datetime.fromisoformat(found["at"]).replace(tzinfo=UTC)
        if found := _VALKEY.match(text):
            return datetime.strptime(found["at"], "%d %b %Y %H:%M:%S.%f").astimezone(UTC)
    except ValueError:
        return None
    return None
