"""Files named on the command line."""

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
