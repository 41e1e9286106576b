"""Corrections of package installations that run out of disk space."""

import re

from workers.shells.corrections.apt import installs
from workers.shells.corrections.correction import Correction, FailedCommand, Probe, Proposal

_NO_ROOM = re.compile(r"You don't have enough free space in /var/cache/apt|No space left on device")
_VERBS = ("install", "upgrade", "update")


def _clean(failure: FailedCommand, probe: Probe) -> Proposal | None:
    """Empty apt's cache of installed packages: it downloads them again if needed.

    Nothing else is touched: a rule cannot know whose the other files are.
    """
    found = installs(failure, "apt", "apt-get", verbs=_VERBS)[0]
    kept = probe.ask("ls -1 /var/cache/apt/archives").split("\n")
    if not any(name.endswith(".deb") for name in kept):
        return None
    clean = f"{found.simple.prefix(failure.command)}{found.program.text} clean"
    return Proposal(failure.command, first=(clean,))


CLEAN_CACHE = Correction(
    "apt_clean",
    "freed the space of packages that apt had cached (apt-get clean)",
    lambda failure: bool(
        failure.exit_code
        and installs(failure, "apt", "apt-get", verbs=_VERBS)
        and _NO_ROOM.search(failure.output)
    ),
    _clean,
)
