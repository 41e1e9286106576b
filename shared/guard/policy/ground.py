"""What a kind of operand is judged by: where the program runs, and its policy's places."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from shared.guard.policy.configured import Configuring
from shared.guard.policy.territory import Territory
from shared.guard.words import Word

_CHANGES_NOTHING = Configuring()


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a program runs, and what its policy says about places and variables.

    `given` is True where the text says what comes in on the standard input of the program.
    `changing` is what the text does to the configuration.
    """

    territory: Territory
    directories: tuple[Word, ...]
    variables: re.Pattern[str]
    given: bool = False
    changing: Configuring = _CHANGES_NOTHING


Kind = Callable[[Word, Ground], str | None]
"""Why a word is not of this kind, or None when it is."""
