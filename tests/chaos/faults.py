"""What a fault is, and every one that there is.

To add one: write what it does as an `Act`, give it a name in the list of its module, and name it in
a phase (`phases.py`). A fault after which nobody can know how a command ended says so with
`allows_unknown`, and names the host on which it was so.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.chaos.stage import Stage


@dataclass(frozen=True, slots=True)
class Injected:
    """A fault that was injected: what undoes it, and after how many seconds; where it was."""

    undo: Callable[[], None] | None = None
    after: float = 0.0
    host: str | None = None


Act = Callable[[Stage, random.Random], Injected | None]
"""Injects a fault at once; None when there is nothing now that it could be done to."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault by its name. `allows_unknown`: a command may have an end that nobody knows."""

    name: str
    inject: Act
    allows_unknown: bool = False
