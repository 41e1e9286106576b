"""Faults of the product's own processes."""

import random
from typing import Final

from tests.chaos.crew import Kind, Member
from tests.chaos.faults import Act, Fault, Injected, lasting
from tests.chaos.stage import Stage

FREEZE: Final = 5.0
"""Seconds that a process stands still: longer than a lease, so that it comes back too late."""

FREEZE_ALL: Final = 8.0
"""Seconds that all of a kind stand still: nobody is left to take over when the leases end."""


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


def _freeze_all(kind: Kind) -> Act:
    frozen: list[Member] = []

    def begin(stage: Stage) -> bool:
        frozen[:] = [stage.crew.freeze(name) for name in stage.crew.awake(kind)]
        return bool(frozen)

    def end(stage: Stage) -> None:
        for member in frozen:
            stage.crew.thaw(member)

    return lasting(kind, FREEZE_ALL, begin, end)


FAULTS: Final = (
    Fault("executor killed", _kill("executor")),
    Fault("coordinator killed", _kill("coordinator")),
    Fault("planner killed", _kill("planner")),
    Fault("process frozen 5 s", _freeze),
    Fault("all executors frozen 8 s", _freeze_all("executor"), for_all=True),
    Fault("all coordinators frozen 8 s", _freeze_all("coordinator")),
)
