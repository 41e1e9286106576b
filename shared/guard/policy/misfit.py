"""Why a rule does not allow some words, and which of several rules tells best."""

from collections.abc import Iterable
from typing import ClassVar


class Misfit(Exception):
    """A word that is not allowed; the message says which and why.

    `telling`: of several rules for one program, the one that got furthest tells the cause.
    """

    telling: ClassVar[int] = 4


class WrongCount(Misfit):
    """All options fit, but there are too many or too few operands."""

    telling = 3


class MissingOption(Misfit):
    """All words fit, but an option is missing without which the rule does not hold."""

    telling = 2


class UnknownOption(Misfit):
    """An option that the rule does not list."""

    telling = 1


class OtherSubCommand(Misfit):
    """The words belong to another sub-command; `found` are its words, up to the wrong one."""

    telling = 0

    def __init__(self, *found: str) -> None:
        super().__init__(" ".join(found))
        self.found = found


def cause(program: str, misfits: Iterable[Misfit]) -> str:
    """The reason to show for a program that none of its rules allows."""
    best = max(misfits, key=_telling)
    if isinstance(best, OtherSubCommand):
        return f"no rule lists `{' '.join((program, *best.found))}`"
    return f"{program}: {best}"


def _telling(misfit: Misfit) -> tuple[int, int]:
    depth = len(misfit.found) if isinstance(misfit, OtherSubCommand) else 0
    return misfit.telling, depth
