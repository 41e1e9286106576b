"""Corrections of scripts that the kernel does not start, though they are there and readable.

Left out: taking carriage returns out of a script. The same text would then run what it has written,
which the guard rightly asks a person about.
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
"""The interpreters that a first line may name, and what each is called here. One with a version in
its name is not exchanged: that choice belongs to the planner."""


def _unstarted_command(failure: FailedCommand) -> PlacedCommand | None:
    """The simple command whose program is a path, and was not started."""
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
    """The first line of the file; empty when it is no script."""
    path = shlex.quote(word.text)
    if not probe.holds(f"test -f {path}"):
        return ""
    line = probe.ask(f"head -n 1 -- {path}").split("\n", 1)[0]
    return line if line.startswith("#!") else ""


def _by_interpreter(failure: FailedCommand, probe: Probe) -> Proposal | None:
    """Name the interpreter, where its own place is wrong, or the script is not marked as a program.

    Rights stay as they are: whoever may read a script may hand it to its interpreter.
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
    "gave the script to its interpreter, since it could not be started by itself",
    lambda failure: _unstarted_command(failure) is not None,
    _by_interpreter,
)
