"""What a fault is, and every one that there is.

To add one: write what it does as an `Act`, give it a name in the list of its module, and name it in
a phase (`phases.py`). A fault after which nobody can know how a command ended says so with
`allows_unknown`, and names the host on which it was so. One that needs more than any machine and
any account has says what is missing with `lacking`.
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


def lasting(
    part: str, seconds: float, begin: Callable[[Stage], bool], end: Callable[[Stage], object]
) -> Act:
    """A state of one part of the stage that lasts for some seconds, once at a time.

    `begin` says whether it came about.
    """

    def inject(stage: Stage, _chance: random.Random) -> Injected | None:
        if part in stage.afflicted or not begin(stage):
            return None
        stage.afflicted.add(part)

        def undo() -> None:
            stage.afflicted.discard(part)
            end(stage)

        return Injected(undo, seconds)

    return inject


def nothing_lacking(_stage: Stage) -> None:
    """Such a fault can be injected everywhere."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault by its name. `allows_unknown`: a command may have an end that nobody knows.

    `cuts_output`: its output may lack a part. `for_all`: it concerns the jobs in hand of every
    worker. `lacking` says why the fault cannot be injected on a stage, None when it can.
    """

    name: str
    inject: Act
    allows_unknown: bool = False
    cuts_output: bool = False
    for_all: bool = False
    lacking: Callable[[Stage], str | None] = nothing_lacking
