"""Files named on the command line."""

import shlex
from collections.abc import Callable
from pathlib import Path

from shared.domain.errors import Rejected
from shared.domain.next_step import ShellCommand


def read_text(path: Path) -> str:
    """The text of a file; raises Rejected, naming the file, when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Rejected(
            f"{path} cannot be read: {error}",
            stage="input",
            next_step=ShellCommand(f"ls -l {path}"),
        ) from error


def beside(file: Path) -> Callable[[str], str]:
    """What reads the files that `file` names: in its own folder, else in the current one.

    It raises Rejected, naming both, where neither has it.
    """

    def read(name: str) -> str:
        near, here = file.parent / name, Path(name)
        if near.exists():
            return read_text(near)
        if here.exists():
            return read_text(here)
        raise Rejected(
            f"{name!r} is not a file in {file.parent.resolve()} or in {Path.cwd()}",
            stage="input",
            next_step=ShellCommand(f"ls -l {shlex.quote(str(file.parent))}"),
        )

    return read


def write_new(path: Path, text: str) -> None:
    """Write a new file; raises Rejected when it exists or cannot be written."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
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
