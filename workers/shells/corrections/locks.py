"""Corrections of pid files and locks that make a program think another one is running."""

import re
import shlex

from workers.shells.corrections.command_line import PlacedCommand, PlacedWord, replace_word
from workers.shells.corrections.correction import Correction, FailedCommand, Probe, Proposal

_PID_FILE = re.compile(r"(?:^|[\s'\"(:=])([A-Za-z0-9_.+/-]+\.pid)\b", re.MULTILINE)
_NEVER = re.compile(r"(?:^|/)postmaster\.pid$")
"""Postgres also checks its shared memory before it trusts this file."""
_NUMBER = re.compile(r"[1-9]\d{0,9}")
_NOT_WAITING = frozenset({"-n", "--nb", "--nonblock"})
_HELD = 1
PATIENCE = 120
"""Seconds to wait for a lock that another job holds."""


def _pid_files(failure: FailedCommand) -> list[str]:
    """The pid files that the output names; relative ones only if no command changed the folder."""
    moved = any(simple.name in ("cd", "pushd") for simple in failure.commands)
    found = dict.fromkeys(_PID_FILE.findall(failure.output))
    return [
        path for path in found if not _NEVER.search(path) and (path.startswith("/") or not moved)
    ]


def _put_aside(failure: FailedCommand, probe: Probe) -> Proposal | None:
    """Rename a pid file whose process does not run; nothing is deleted."""
    for path in _pid_files(failure):
        quoted = shlex.quote(path)
        number = probe.ask(f"head -c 20 -- {quoted}").strip()
        if not _NUMBER.fullmatch(number) or not probe.holds("test -e /proc/1"):
            continue
        if probe.holds(f"test -e /proc/{number}"):
            continue
        sudo = "sudo -n " if any(s.wrapped_in("sudo") for s in failure.commands) else ""
        return Proposal(failure.command, first=(f"{sudo}mv -f {quoted} {quoted}.dead",))
    return None


def _nonblocking_flock(failure: FailedCommand) -> tuple[PlacedCommand, PlacedWord] | None:
    """A call of flock that gave up at once, and the option that made it do so."""
    if failure.exit_code != _HELD or failure.output.strip():
        return None
    for simple in failure.commands:
        if simple.name == "flock" and simple.arguments:
            first = simple.arguments[0]
            if first.text in _NOT_WAITING:
                return simple, first
    return None


def _wait(failure: FailedCommand, probe: Probe) -> Proposal | None:
    """Wait for the lock if it is held."""
    found = _nonblocking_flock(failure)
    if found is None or len(found[0].arguments) <= 1:
        return None
    option, file = found[1], found[0].arguments[1]
    if not file.literal or file.text.startswith("-"):
        return None
    if probe.holds(f"flock -n {shlex.quote(file.text)} true"):
        return None
    return Proposal(replace_word(failure.command, option, f"-w {PATIENCE}"), allowance=PATIENCE)


DEAD_PID_FILE = Correction(
    "dead_pid_file",
    "renamed a pid file whose process does not run",
    lambda failure: bool(failure.exit_code) and bool(_pid_files(failure)),
    _put_aside,
)
WAIT_FOR_FLOCK = Correction(
    "wait_for_flock",
    "waited for the lock that another job held",
    lambda failure: _nonblocking_flock(failure) is not None,
    _wait,
)
