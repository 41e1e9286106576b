"""Files named on the command line."""

import io
import os
import shlex
from collections.abc import Callable
from pathlib import Path

from shared.domain.errors import Rejected
from shared.domain.next_step import ShellCommand

LARGEST = 10_000_000
"""Bytes of a file that a person gives; what is longer was not meant."""


def read_bytes(path: Path, largest: int = LARGEST) -> bytes:
    """The bytes of a file; raises Rejected, naming the file, when it cannot be read."""
    try:
        with path.open("rb") as file:
            read = file.read(largest + 1)
    except OSError as error:
        raise _unreadable(path, error) from error
    if len(read) > largest:
        raise Rejected(
            f"{path} is longer than {largest} bytes: it is not a file for replan",
            stage="input",
            next_step=ShellCommand(f"ls -l {shlex.quote(str(path))}"),
        )
    return read


def read_text(path: Path) -> str:
    """The text of a file; raises Rejected, naming the file, when it cannot be read."""
    try:
        return io.StringIO(read_bytes(path).decode(), newline=None).read()
    except UnicodeDecodeError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> Rejected:
    return Rejected(
        f"{path} cannot be read: {error}",
        stage="input",
        next_step=ShellCommand(f"ls -l {shlex.quote(str(path))}"),
    )


def beside(file: Path) -> Callable[[str], str]:
    """What reads the files that `file` names: in its own folder, else in the current one.

    It raises Rejected, naming both, where neither has it.
    """

    def read(name: str) -> str:
        for place in (file.parent / name, Path(name)):
            if os.path.isfile(place):  # noqa: PTH113 - Path raises for a name that is too long
                return read_text(place)
            if os.path.lexists(place):
                raise Rejected(
                    f"{place} cannot be read: it is not a regular file",
                    stage="input",
                    next_step=ShellCommand(f"ls -l {shlex.quote(str(place))}"),
                )
        raise Rejected(
            f"{name!r} is not a file in {file.parent.resolve()} or in {Path.cwd()}",
            stage="input",
            next_step=ShellCommand(f"ls -l {shlex.quote(str(file.parent))}"),
        )

    return read


def write_new(path: Path, content: str | bytes) -> None:
    """Write a new file; raises Rejected when it exists or cannot be written."""
    try:
        with path.open("xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
    except FileExistsError as error:
        raise Rejected(
            f"{path} already exists and is not overwritten",
            stage="input",
            next_step=ShellCommand(f"ls -l {shlex.quote(str(path))}"),
        ) from error
    except OSError as error:
        raise Rejected(
            f"{path} cannot be written: {error.strerror}",
            stage="input",
            next_step=ShellCommand(f"ls -ld {shlex.quote(str(path.parent))}"),
        ) from error
