"""Corrections of limits that an account may raise by itself."""

import re

from workers.shells.corrections.correction import Correction, FailedCommand, Probe, Proposal

_TOO_MANY = re.compile(r"Too many open files(?! in system)|\bEMFILE\b")
ENOUGH = 65_536
"""Open files that are asked for at most."""


def _more_files(failure: FailedCommand, probe: Probe) -> Proposal | None:
    """As many open files as the account may have: its soft limit goes up to its hard one."""
    soft, hard = (_limit(probe.ask(f"ulimit -{kind} -n")) for kind in ("S", "H"))
    wanted = min(hard, ENOUGH)
    if not 0 < soft < wanted:
        return None
    return Proposal(failure.command, first=(f"ulimit -S -n {wanted}",))


def _limit(text: str) -> int:
    """A limit as `ulimit` prints it; 0 when it did not."""
    text = text.strip()
    if text == "unlimited":
        return ENOUGH
    return int(text) if re.fullmatch(r"\d{1,9}", text) else 0


OPEN_FILES = Correction(
    "open_files",
    "allowed it as many open files as the account may have",
    lambda failure: bool(failure.exit_code and _TOO_MANY.search(failure.output)),
    _more_files,
)
