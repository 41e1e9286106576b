"""Whether a program could not have a lock because another one has it."""

import re

_HELD = re.compile(
    r"\bheld by process \d|\bis another process using it\b|\blocked by another process\b"
    r"|\banother (?:transaction|copy|\w* ?process) (?:is|seems to be) (?:in progress|running)"
    r"|\bResource temporarily unavailable\b|\(11: |\bEAGAIN\b|\bEWOULDBLOCK\b"
    r"|\blocked by the application with pid \d|\bWaiting for (?:cache lock|process with pid)\b",
    re.IGNORECASE,
)
"""What says that somebody has it: EAGAIN (11) is what the kernel answers for a held lock."""


def somebody_holds(output: str) -> bool:
    """Whether the output says that another process has the lock.

    False where it says something else, or nothing, of the cause: no rights (EACCES, EPERM), a file
    system that cannot be written to (EROFS, ENOSPC), a file that a dead process left (EEXIST).
    """
    return any(_HELD.search(line) for line in output.splitlines() if "lock" in line.lower())
