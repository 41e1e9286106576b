"""Wall clocks that jump an hour, forward or back, and are right again some seconds later."""

import random
import time
from collections.abc import Callable
from typing import Final

from tests.chaos.clocks import GROUPS, Clock
from tests.chaos.faults import Fault, Injected
from tests.chaos.stage import Stage

HOUR: Final = 3600
WRONG: Final = 6.0
"""Seconds that a clock is wrong."""

NO_CLOCK: Final = "no C compiler makes the library that sets the clocks of processes"


def _stepped(name: str, clock: Callable[[Stage], Clock | None], *, all_groups: bool) -> Fault:
    """Some workers disagree with the others, hosts with everybody."""

    def inject(stage: Stage, chance: random.Random) -> Injected | None:
        found = clock(stage)
        if found is None or name in stage.afflicted:
            return None
        stage.afflicted.add(name)
        step = chance.choice((-HOUR, HOUR))
        groups = GROUPS if all_groups else (chance.choice(GROUPS),)
        found.step(step, *groups)
        if not all_groups:
            now = time.time() + step
            stage.book.spans.append((now, now + 2 * WRONG))

        def undo() -> None:
            found.step(0, *GROUPS)
            stage.afflicted.discard(name)

        return Injected(undo, WRONG)

    return Fault(name, inject, lacking=lambda stage: None if clock(stage) else NO_CLOCK)


FAULTS: Final = (
    _stepped("clocks of workers stepped 1 h", lambda stage: stage.crew_clock, all_groups=False),
    _stepped("clock of hosts stepped 1 h", lambda stage: stage.hosts_clock, all_groups=True),
)
