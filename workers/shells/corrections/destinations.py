"""Corrections of files that cannot be written to but can be replaced."""

import re
import shlex
from collections.abc import Iterator

from workers.shells.corrections.command_line import PlacedCommand, insert
from workers.shells.corrections.correction import Correction, FailedCommand, Probe, Proposal

_PATH = re.compile(r"[A-Za-z0-9_.+@%:,/-]+")
_DANGLING = re.compile(r"cp: not writing through dangling symlink '([^']+)'")
_BUSY = re.compile(r"cp: cannot create regular file '([^']+)': Text file busy")
_LINK_EXISTS = re.compile(r"ln: failed to create symbolic link '([^']+)': File exists")


def _calls_of(failure: FailedCommand, name: str) -> Iterator[PlacedCommand]:
    return (simple for simple in failure.commands if simple.name == name and simple.program)


def _dangles(path: str, probe: Probe) -> bool:
    quoted = shlex.quote(path)
    return (
        bool(_PATH.fullmatch(path))
        and probe.holds(f"test -L {quoted}")
        and not probe.holds(f"test -e {quoted}")
    )


def _copy_anew(failure: FailedCommand, probe: Probe) -> Proposal | None:
    """Replace a dangling link, or the file of a running program, with the copy.

    A running program keeps its open file, and a dangling link points to nothing that could be lost.
    """
    dangling = _DANGLING.search(failure.output)
    if dangling is not None and not _dangles(dangling[1], probe):
        return None
    simple = next(_calls_of(failure, "cp"), None)
    if simple is None or simple.program is None or "--remove-destination" in failure.command:
        return None
    return Proposal(insert(failure.command, simple.program.end, " --remove-destination"))


def _link_anew(failure: FailedCommand, probe: Probe) -> Proposal | None:
    """Replace a dangling link with the new link."""
    found = _LINK_EXISTS.search(failure.output)
    simple = next(_calls_of(failure, "ln"), None)
    if found is None or simple is None or simple.program is None or not _dangles(found[1], probe):
        return None
    return Proposal(insert(failure.command, simple.program.end, " -fn"))


COPY_ANEW = Correction(
    "copy_anew",
    "replaced a file that could not be written to with the copy (--remove-destination)",
    lambda failure: bool(
        failure.exit_code and (_DANGLING.search(failure.output) or _BUSY.search(failure.output))
    ),
    _copy_anew,
)
LINK_ANEW = Correction(
    "link_anew",
    "replaced a dangling link with the new link",
    lambda failure: bool(failure.exit_code and _LINK_EXISTS.search(failure.output)),
    _link_anew,
)
