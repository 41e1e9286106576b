"""Corrections of package installations that find no room."""

import re

from workers.shells.corrections.apt import installs
from workers.shells.corrections.correction import Correction, FailedCommand, Probe, Proposal

_NO_ROOM = re.compile(r"You don't have enough free space in /var/cache/apt|No space left on device")
_VERBS = ("install", "upgrade", "update")


def _clean(failure: FailedCommand, probe: Probe) -> Proposal | None:
    """Give back what apt keeps of packages that were installed: it downloads them again if needed.

    Nothing else is touched: whose the rest is, is not for a rule to say.
    """
    found = installs(failure, "apt", "apt-get", verbs=_VERBS)[0]
    kept = probe.ask("ls -1 /var/cache/apt/archives").split("\n")
    if not any(name.endswith(".deb") for name in kept):
        return None
    clean = f"{found.simple.prefix(failure.command)}{found.program.text} clean"
    return Proposal(failure.command, first=(clean,))


CLEAN_CACHE = Correction(
    "apt_clean",
    "gave back the room of packages that apt had kept (apt-get clean)",
    lambda failure: bool(
        failure.exit_code
        and installs(failure, "apt", "apt-get", verbs=_VERBS)
        and _NO_ROOM.search(failure.output)
    ),
    _clean,
)
