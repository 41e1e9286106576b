"""Corrections of how a command is written: copied characters and another shell's syntax."""

import re
import shlex

from workers.shells.corrections.correction import Correction, FailedCommand, Probe, Proposal

_TYPOGRAPHY = {
    "\u201c": '"',
    "\u201d": '"',
    "\u2018": "'",
    "\u2019": "'",
    "\u00a0": " ",
    "\u202f": " ",
    "\r": "",
}
_PROMPT = re.compile(r"^\s*\$ (?=\S)", re.MULTILINE)
_UNREADABLE = re.compile(r"not found|[Ss]yntax error|Unterminated|unexpected EOF|No such file")
_BASH = re.compile(
    r'Syntax error: "\(" unexpected|[Ss]yntax error: redirection unexpected|\[\[: not found'
    r"|Bad substitution|source: not found|Illegal option -o pipefail|shopt: not found"
    r"|declare: not found|local: not in a function|pushd: not found|let: not found"
)


def _is_garbled(failure: FailedCommand) -> bool:
    if failure.exit_code not in (2, 126, 127) or not _UNREADABLE.search(failure.output):
        return False
    return _clean(failure.command) != failure.command


def _clean(command: str) -> str:
    return "".join(_TYPOGRAPHY.get(char, char) for char in _PROMPT.sub("", command))


def _plain_text(failure: FailedCommand, _: Probe) -> Proposal | None:
    """Remove a copied prompt, typographic quotes, non-breaking spaces and carriage returns."""
    return Proposal(_clean(failure.command))


def _in_bash(failure: FailedCommand, probe: Probe) -> Proposal | None:
    """Run the command in the shell that it was written for."""
    if not probe.holds("command -v bash"):
        return None
    return Proposal(f"bash -c {shlex.quote(failure.command)}")


PLAIN_TEXT = Correction(
    "plain_text",
    "removed a copied prompt, typographic quotes or carriage returns from the command",
    _is_garbled,
    _plain_text,
)
IN_BASH = Correction(
    "run_in_bash",
    "ran the command in bash, whose syntax it uses",
    lambda failure: bool(failure.exit_code) and bool(_BASH.search(failure.stderr)),
    _in_bash,
)
