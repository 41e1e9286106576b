"""The limits of a command's text."""

import shlex

from shared.domain.errors import Rejected

LONGEST = 120_000
"""Bytes of a command: Linux takes no more than 131,072 in one argument."""


def path_word(workdir: str) -> str:
    """One word of a command line for a path; `~` is the account's home."""
    if workdir == "~" or workdir.startswith("~/"):
        return f'"$HOME"{shlex.quote(workdir[1:])}'
    return shlex.quote(workdir)


def valid_text(line: str) -> str:
    """The same text; raises Rejected if no host can take it: too long, or not valid text."""
    try:
        size = len(line.encode())
    except UnicodeEncodeError:
        raise Rejected("the command is not valid text", stage="execute") from None
    if "\0" in line:
        raise Rejected("the command contains a NUL byte", stage="execute")
    if size > LONGEST:
        raise Rejected(
            f"the command has {size} bytes, but a host accepts at most {LONGEST}; "
            "write long content in several commands",
            stage="execute",
        )
    return line
