"""Tells whether a program failed to get a lock because another one holds it."""

import re

_HELD = re.compile(
    r"\bheld by process \d|\bis another process using it\b|\blocked by another process\b"
    r"|\banother (?:transaction|copy|\w* ?process) (?:is|seems to be) (?:in progress|running)"
    r"|\bResource temporarily unavailable\b|\(11: |\bEAGAIN\b|\bEWOULDBLOCK\b"
    r"|\blocked by the application with pid \d|\bWaiting for (?:cache lock|process with pid)\b",
    re.IGNORECASE,
)
"""Output that shows a held lock; EAGAIN (11) is the kernel's error for one."""


def somebody_holds(output: str) -> bool:
    """Whether the output says that another process holds the lock.

    False if it names another cause, or none: no rights (EACCES, EPERM), a file system that cannot
    be written to (EROFS, ENOSPC), a file that a dead process left behind (EEXIST).
    """
    return any(_HELD.search(line) for line in output.splitlines() if "lock" in line.lower())
