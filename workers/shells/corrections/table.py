"""The table of corrections, in the order in which they are considered.

The most specific errors come first: a command that the shell cannot read, then what dpkg or apt ask
for by name, then packages, paths, programs, services, and last the network, whose messages are the
vaguest.

Left out on purpose: raising rights (`permission denied` → sudo) and freeing a port that is in use.
Both change what the plan was allowed to do; only the planner may propose them (S0.73).
"""

from collections.abc import Collection

from workers.shells.corrections import (
    apt,
    apt_space,
    destinations,
    dpkg,
    init_scripts,
    libraries,
    limits,
    locks,
    network,
    paths,
    programs,
    python_packages,
    scripts,
    services,
    spelling,
)
from workers.shells.corrections.correction import Correction, FailedCommand, Probe, Proposal

HELD: tuple[Correction, ...] = (dpkg.LOCK_HELD,)
"""Obstacles that go away by themselves: the attempt waits for them and counts no error."""

CORRECTIONS: tuple[Correction, ...] = (
    spelling.PLAIN_TEXT,
    spelling.IN_BASH,
    dpkg.INTERRUPTED,
    dpkg.FIX_BROKEN,
    dpkg.KEEP_CONFFILES,
    apt.ASSUME_YES,
    network.WAIT_FOR_NETWORK,
    apt_space.CLEAN_CACHE,
    apt.UPDATE_FIX_MISSING,
    apt.OTHER_PACKAGE,
    apt.NO_RECOMMENDS,
    python_packages.FROM_DISTRIBUTION,
    paths.MISSING_PARENT,
    paths.NEAREST_PATH,
    destinations.COPY_ANEW,
    destinations.LINK_ANEW,
    scripts.INTERPRETER,
    libraries.LINKER_CACHE,
    limits.OPEN_FILES,
    locks.DEAD_PID_FILE,
    locks.WAIT_FOR_FLOCK,
    programs.SUDO_NOT_NEEDED,
    programs.OTHER_NAME,
    programs.FULL_PATH,
    programs.INSTALL_TOOL,
    init_scripts.INIT_SCRIPT,
    services.DAEMON_RELOAD,
    services.RESTART,
    network.RETRY_DOWNLOAD,
    network.REPEAT_FETCH,
)

BY_NAME: dict[str, Correction] = {rule.name: rule for rule in (*HELD, *CORRECTIONS)}


TESTED: dict[str, str] = {name: rule.tested for name, rule in BY_NAME.items()}
"""What each correction tried, in words for the evidence."""


def choose(
    failure: FailedCommand,
    probe: Probe,
    *,
    used: Collection[str] = (),
    tried: Collection[str] = (),
    rules: tuple[Correction, ...] = CORRECTIONS,
) -> tuple[Correction, Proposal] | None:
    """The first rule that has something new to propose.

    `used` holds the names of rules already used on this subtask in this pass, `tried` the texts
    that have already run; neither is repeated.
    """
    for rule in rules:
        if rule.name in used or not rule.applies(failure):
            continue
        proposal = rule.propose(failure, probe)
        if proposal is None:
            continue
        waits = proposal.until is not None or proposal.pause > 0
        if waits or proposal.text not in tried:
            return rule, proposal
    return None
