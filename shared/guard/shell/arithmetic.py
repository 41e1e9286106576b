"""Texts that shells evaluate as arithmetic, and that may run commands by it.

bash evaluates the values of variables as well, and every subscript in them: with
`x='a[$(reboot)]'`, `$((x))` reboots. dash and busybox do not.
"""

import re
from dataclasses import dataclass
from typing import Protocol

from shared.guard.words import Hole, Word, literal_word

_NAME = re.compile(r"(?<![\w#])[A-Za-z_]\w*")
_SUBSCRIPTED = re.compile(r"[A-Za-z_]\w*(?:\[([^]\[]*)\])?|[0-9@*#?$!-]", re.DOTALL)
_MOST_VARIABLES = 200


class Variables(Protocol):
    """The variables of a shell."""

    def value(self, name: str) -> Word:
        """What `$name` stands for."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A shell that evaluates: its variables, and whether it may be bash."""

    variables: Variables
    bash: bool


def runs_in_arithmetic(text: str) -> bool:
    """Check whether a possible array index inside the text holds a substitution."""
    _, bracket, index = text.partition("[")
    return bool(bracket) and ("$(" in index or "`" in index)


def evaluates_safely(word: Word, shell: Evaluated) -> str | None:
    """Why a word may run a command when it is evaluated as arithmetic; None when it cannot."""
    waiting = [word]
    seen: set[str] = set()
    while waiting:
        here = waiting.pop()
        if runs_in_arithmetic(str(here)):
            return "arithmetic would run a command in it"
        if not shell.bash or here.numeric:
            continue
        if any(isinstance(piece, Hole) and not piece.number for piece in here.pieces):
            return (
                "bash evaluates as arithmetic what is known only when it runs, and may run a"
                f" command by it: {word}"
            )
        names = set(_NAME.findall(here.with_placeholder("0"))) - seen
        seen |= names
        if len(seen) > _MOST_VARIABLES:
            return "arithmetic names too many variables"
        waiting += map(shell.variables.value, sorted(names))
    return None


def names_safely(word: Word, shell: Evaluated) -> str | None:
    """Why a word may run a command when it is taken as the name of a variable, or None.

    `test -v`, `printf -v`, `${!x}` and `unset` evaluate the subscript that stands in a name.
    """
    text = word.literal
    if text is None:
        if word.numeric or not shell.bash:
            return None
        return f"bash takes it as the name of a variable, and would run a command in it: {word}"
    found = _SUBSCRIPTED.fullmatch(text)
    if found is None:
        return None if "[" not in text else f"the subscript of {text} may run a command"
    if found[1] in (None, "", "@", "*"):
        return None
    return evaluates_safely(literal_word(found[1]), shell)
