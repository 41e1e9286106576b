"""Faults of the product's own processes."""

import random
from typing import Final

from shared.store.presence import SHOWN
from tests.chaos.crew import Kind, Member
from tests.chaos.faults import Act, Fault, Injected, lasting
from tests.chaos.stage import Stage

FREEZE: Final = 5.0
"""Seconds that a process stands still: longer than a lease, so that it comes back too late."""

_END_SESSION: Final = f"""
    SELECT pg_terminate_backend(shown.pid) FROM {SHOWN}
    WHERE number IN (SELECT presence FROM jobs WHERE state = 'open' AND owner LIKE :owner)
"""  # noqa: S608 - nothing but constants

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
    name = chance.choice(names)
    stage.resumptions.expect(stage.crew.members[name].pid, killed=False)
    member = stage.crew.freeze(name)
    return Injected(lambda: stage.crew.thaw(member), FREEZE)


def _cut(stage: Stage, chance: random.Random) -> Injected | None:
    """End the session in which an executor shows its presence; the process lives on."""
    names = stage.crew.awake("executor")
    if not names:
        return None
    pid = stage.crew.members[chance.choice(names)].pid
    if not stage.rows.soon(_END_SESSION, owner=f"%.{pid}@%"):
        return None
    stage.resumptions.expect(pid, killed=False)
    return Injected()


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
    Fault("executor's session ended", _cut),
    Fault("all executors frozen 8 s", _freeze_all("executor"), for_all=True),
    Fault("all coordinators frozen 8 s", _freeze_all("coordinator")),
)
