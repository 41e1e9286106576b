"""Corrections of limits that an account may raise for itself."""

import re

from workers.shells.corrections.correction import Correction, FailedCommand, Probe, Proposal

_TOO_MANY = re.compile(r"Too many open files(?! in system)|\bEMFILE\b")
ENOUGH = 65_536
"""The highest limit of open files that is set."""


def _more_files(failure: FailedCommand, probe: Probe) -> Proposal | None:
    """Allow as many open files as the account may have: raise its soft limit to its hard limit."""
    soft, hard = (_limit(probe.ask(f"ulimit -{kind} -n")) for kind in ("S", "H"))
    wanted = min(hard, ENOUGH)
    if not 0 < soft < wanted:
        return None
    return Proposal(failure.command, first=(f"ulimit -S -n {wanted}",))


def _limit(text: str) -> int:
    """A limit as `ulimit` prints it; 0 if it is not a number."""
    text = text.strip()
    if text == "unlimited":
        return ENOUGH
    return int(text) if re.fullmatch(r"\d{1,9}", text) else 0


OPEN_FILES = Correction(
    "open_files",
    "raised the limit of open files as far as the account may",
    lambda failure: bool(failure.exit_code and _TOO_MANY.search(failure.output)),
    _more_files,
)
