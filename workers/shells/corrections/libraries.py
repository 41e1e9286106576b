"""Corrections of shared libraries that exist but that the linker does not know."""

import re
import shlex

from workers.shells.corrections.correction import Correction, FailedCommand, Probe, Proposal

_NOT_LOADED = re.compile(
    r"error while loading shared libraries: (lib[\w.+-]+): cannot open shared object file"
)
_FOLDERS = ("/usr/local/lib", "/usr/local/lib64", "/lib", "/usr/lib", "/usr/lib64")
_READING = 30.0
"""Seconds that updating the linker's cache may take."""


def _refresh_linker_cache(failure: FailedCommand, probe: Probe) -> Proposal | None:
    """Update the linker's cache if the library lies in one of the linker's folders."""
    found = _NOT_LOADED.search(failure.output)
    if found is None:
        return None
    places = " ".join(shlex.quote(f"{folder}/{found[1]}") for folder in _FOLDERS)
    if not probe.ask(f"ls -1d {places}").strip():
        return None
    sudo = "sudo -n " if any(s.wrapped_in("sudo") for s in failure.commands) else ""
    if not sudo and probe.ask("id -u").strip() != "0":
        return None
    return Proposal(failure.command, first=(f"{sudo}ldconfig",), allowance=_READING)


LINKER_CACHE = Correction(
    "linker_cache",
    "updated the cache of the linker (ldconfig)",
    lambda failure: bool(failure.exit_code and _NOT_LOADED.search(failure.output)),
    _refresh_linker_cache,
)
