"""Faults of the product's own processes."""

import random
from typing import Final

from tests.chaos.crew import Kind
from tests.chaos.faults import Act, Fault, Injected
from tests.chaos.stage import Stage

FREEZE: Final = 5.0
"""Seconds that a process stands still: longer than a lease, so that it comes back too late."""


def _kill(*kinds: Kind) -> Act:
    def inject(stage: Stage, chance: random.Random) -> Injected | None:
        names = stage.crew.awake(*kinds)
        if not names:
            return None
        stage.kill(chance.choice(names))
        return Injected()

    return inject


def _freeze(stage: Stage, chance: random.Random) -> Injected | None:
    names = stage.crew.awake("executor", "coordinator", "planner")
    if not names:
        return None
    member = stage.crew.freeze(chance.choice(names))
    return Injected(lambda: stage.crew.thaw(member), FREEZE)


FAULTS: Final = (
    Fault("executor killed", _kill("executor")),
    Fault("coordinator killed", _kill("coordinator")),
    Fault("planner killed", _kill("planner")),
    Fault("process frozen 5 s", _freeze),
)
