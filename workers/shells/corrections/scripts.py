"""Corrections of scripts that exist and are readable but that the kernel does not start.

Left out on purpose: removing carriage returns from a script. The command would then run a file that
it has written itself, and for that the guard rightly asks a person.
"""

import re
import shlex

from workers.shells.corrections.command_line import PlacedCommand, PlacedWord, insert
from workers.shells.corrections.correction import Correction, FailedCommand, Probe, Proposal

_NOT_STARTED = frozenset({126, 127})
_WHY = (
    r": (?:not found|Permission denied|No such file or directory"
    r"|cannot execute: required file not found|.*bad interpreter.*)"
)
_PATH = re.compile(r"[A-Za-z0-9_.+@%:,/-]*/[A-Za-z0-9_.+@%:,-]+")
_FIRST_LINE = re.compile(r"#! *(?:/\S*/)?(?:env +)?(?:/\S*/)?([\w.+-]+)(?: +(-\w+))?")
_INTERPRETERS: dict[str, tuple[str, ...]] = {
    "sh": ("sh",),
    "dash": ("dash", "sh"),
    "bash": ("bash",),
    "python": ("python3", "python"),
    "python3": ("python3",),
    "perl": ("perl",),
    "ruby": ("ruby",),
    "node": ("node", "nodejs"),
    "php": ("php",),
}
"""The interpreters that a first line may name, and their names on hosts. An interpreter with a
version in its name is not replaced: that choice belongs to the planner."""


def _unstarted_command(failure: FailedCommand) -> PlacedCommand | None:
    """The simple command whose program is a path and could not be started."""
    if failure.exit_code not in _NOT_STARTED:
        return None
    for simple in failure.commands:
        word = simple.program
        if word is None or not word.literal or not _PATH.fullmatch(word.text):
            continue
        if re.search(re.escape(word.text) + _WHY, failure.output):
            return simple
    return None


def _first_line(word: PlacedWord, probe: Probe) -> str:
    """The first line of the file; empty if it is not a script."""
    path = shlex.quote(word.text)
    if not probe.holds(f"test -f {path}"):
        return ""
    line = probe.ask(f"head -n 1 -- {path}").split("\n", 1)[0]
    return line if line.startswith("#!") else ""


def _by_interpreter(failure: FailedCommand, probe: Probe) -> Proposal | None:
    """Call the interpreter if its path in the script is wrong or the script is not executable.

    The rights stay the same: any account that can read a script can pass it to an interpreter.
    """
    simple = _unstarted_command(failure)
    if simple is None or simple.program is None:
        return None
    found = _FIRST_LINE.fullmatch(_first_line(simple.program, probe))
    if found is None:
        return None
    for name in _INTERPRETERS.get(found[1], ()):
        if probe.holds(f"command -v {name}"):
            words = f"{name} {found[2]} " if found[2] else f"{name} "
            return Proposal(insert(failure.command, simple.program.start, words))
    return None


INTERPRETER = Correction(
    "script_interpreter",
    "passed the script to its interpreter, since it could not be started directly",
    lambda failure: _unstarted_command(failure) is not None,
    _by_interpreter,
)
