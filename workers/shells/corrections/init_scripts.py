"""Corrections of systemd commands on a host that starts its services with init scripts."""

import re
import shlex

from workers.shells.corrections.command_line import PlacedCommand
from workers.shells.corrections.correction import Correction, FailedCommand, Probe, Proposal

_NO_SYSTEMD = re.compile(
    r"systemctl: (?:command )?not found|System has not been booted with systemd"
    r"|Failed to connect to bus"
)
_UNIT = re.compile(r"[A-Za-z0-9][\w@.-]*")
_SAME = frozenset({"start", "stop", "restart", "reload", "status"})
_QUIET = frozenset({"-q", "--quiet", "--no-pager"})


def _systemctl(failure: FailedCommand) -> tuple[PlacedCommand, str, str] | None:
    """The call of systemctl with its verb and unit; None if it has anything else."""
    for simple in failure.commands:
        if simple.name != "systemctl" or not all(word.literal for word in simple.arguments):
            continue
        words = [word.text for word in simple.arguments if word.text not in _QUIET]
        if len(words) != 2:  # noqa: PLR2004 - a verb and a unit
            continue
        verb, unit = words[0], words[1].removesuffix(".service")
        if verb in (*_SAME, "enable") and _UNIT.fullmatch(unit):
            return simple, verb, unit
    return None


def _by_script(failure: FailedCommand, probe: Probe) -> Proposal | None:
    """Do the same with the service's init script."""
    found = _systemctl(failure)
    if found is None or found[0].program is None:
        return None
    simple, verb, unit = found
    if not probe.holds(f"test -x {shlex.quote(f'/etc/init.d/{unit}')}"):
        return None
    instead = f"update-rc.d {unit} defaults" if verb == "enable" else f"service {unit} {verb}"
    start, end = found[0].program.start, simple.words[-1].end
    return Proposal(f"{failure.command[:start]}{instead}{failure.command[end:]}")


INIT_SCRIPT = Correction(
    "init_script",
    "used the service's init script, since systemd does not run on this host",
    lambda failure: bool(
        failure.exit_code and _NO_SYSTEMD.search(failure.output) and _systemctl(failure)
    ),
    _by_script,
)
