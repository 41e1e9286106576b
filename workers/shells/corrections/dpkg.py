"""Corrections of what blocks dpkg: a lock, an interruption, a question."""

import re

from workers.shells.corrections.command_line import PlacedCommand, insert
from workers.shells.corrections.correction import Correction, FailedCommand, Probe, Proposal
from workers.shells.corrections.held_locks import somebody_holds

_LOCK = re.compile(
    r"Could not get lock \S|Unable to acquire the dpkg frontend lock"
    r"|Unable to lock (?:the \w+ )?directory|lock was locked by another process"
)
_LISTS = re.compile(r"lock (?:(?:the \w+ )?directory )?\S*/(?:lists|archives)\b")
_INTERRUPTED = re.compile(r"dpkg was interrupted, you must manually run")
_BROKEN = re.compile(r"--fix-broken install|apt-get -f install")
_CONFFILE = re.compile(r"end of file on stdin at conffile prompt")

LOCK_PATIENCE = 300
"""Seconds that a command may wait for a lock."""
_CONFIGURING = 300.0
"""Seconds that completing a half-finished installation may take."""


def _package_commands(failure: FailedCommand) -> list[PlacedCommand]:
    return [s for s in failure.commands if s.name in ("apt", "apt-get", "aptitude", "dpkg")]


def _lock_is_held(failure: FailedCommand) -> bool:
    """Judged from the output: a held lock has the same exit code as a missing package."""
    return bool(
        failure.exit_code and _LOCK.search(failure.output) and somebody_holds(failure.output)
    )


def _wait_for_lock(failure: FailedCommand, _: Probe) -> Proposal | None:
    """Let apt wait for dpkg's locks itself; for locks it cannot wait for, try again a little later.

    `DPkg::Lock::Timeout` has no effect on the locks of the lists and of the archives.
    """
    apt_can_wait = not _LISTS.search(failure.output)
    programs = [s.program for s in failure.commands if s.name in ("apt", "apt-get") and s.program]
    if apt_can_wait and "DPkg::Lock::Timeout" in failure.command:
        return None
    if apt_can_wait and programs:
        command = failure.command
        for program in reversed(programs):
            command = insert(command, program.end, f" -o DPkg::Lock::Timeout={LOCK_PATIENCE}")
        return Proposal(command, allowance=LOCK_PATIENCE)
    if failure.waited >= LOCK_PATIENCE:
        return None
    return Proposal(failure.command, pause=max(1.0, min(15.0, failure.waited)))


def _prepend(failure: FailedCommand, remedy: str) -> Proposal | None:
    simple = _package_commands(failure)[0]
    first = f"{simple.prefix(failure.command)}{remedy}"
    return Proposal(failure.command, first=(first,), allowance=_CONFIGURING)


def _configure(failure: FailedCommand, _: Probe) -> Proposal | None:
    """First run what dpkg asks for."""
    return _prepend(failure, "dpkg --configure -a --force-confdef --force-confold")


def _fix_broken(failure: FailedCommand, _: Probe) -> Proposal | None:
    """Complete half-installed dependencies without removing any package."""
    return _prepend(failure, "apt-get -y --no-remove --fix-broken install")


def _keep_conffiles(failure: FailedCommand, _: Probe) -> Proposal | None:
    """Keep a changed configuration file as the administrator left it."""
    found = next((s for s in _package_commands(failure) if s.name in ("apt", "apt-get")), None)
    if found is None or found.program is None or "--force-conf" in failure.command:
        return None
    options = "".join(f" -o Dpkg::Options::=--force-{choice}" for choice in ("confdef", "confold"))
    return Proposal(insert(failure.command, found.program.end, options))


def _says(pattern: re.Pattern[str], failure: FailedCommand) -> bool:
    return bool(failure.exit_code and _package_commands(failure) and pattern.search(failure.output))


LOCK_HELD = Correction(
    "dpkg_lock",
    "waited for another package manager to release its lock",
    _lock_is_held,
    _wait_for_lock,
)
INTERRUPTED = Correction(
    "dpkg_configure",
    "completed an interrupted installation (dpkg --configure -a)",
    lambda failure: _says(_INTERRUPTED, failure),
    _configure,
)
FIX_BROKEN = Correction(
    "apt_fix_broken",
    "repaired broken dependencies (apt-get --fix-broken install)",
    lambda failure: _says(_BROKEN, failure),
    _fix_broken,
)
KEEP_CONFFILES = Correction(
    "dpkg_keep_conffiles",
    "kept changed configuration files as they are (--force-confold)",
    lambda failure: _says(_CONFFILE, failure),
    _keep_conffiles,
)
