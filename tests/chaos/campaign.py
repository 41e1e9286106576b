"""A campaign: load kept up, faults at random moments, and then peace until everything has ended."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Final

from shared.domain.errors import Rejected, Transient
from tests.chaos.faults import Fault, Injected
from tests.chaos.load import Load
from tests.chaos.orders import Order
from tests.chaos.phases import REGISTRY, Phase, Programme
from tests.chaos.stage import Stage
from tests.chaos.standstill import beyond

TICK: Final = 0.03
LOOK_EVERY: Final = 0.1
FEED_EVERY: Final = 0.4
AGAIN_AFTER: Final = 0.25
"""Seconds after which a fault that found nothing to be done to is tried again."""

OVERTIME: Final = 25.0
"""Seconds that a phase may last longer for faults that have not found anything or last longer."""

UNDER_WAY: Final = """
    SELECT count(*) AS tasks, (SELECT count(*) FROM inbox) AS reports FROM tasks
    WHERE phase NOT IN ('done', 'error', 'cancelled', 'waiting')
"""

ASKED: Final = """
    SELECT id FROM interventions WHERE kind = 'forgotten' AND closed_at IS NULL
"""

MOST_AT_ONCE: Final = 3
"""Tasks submitted in one look: their jobs are not there at once."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A fault that was injected, and the span (s since the epoch) in which it had its effect."""

    phase: str
    fault: Fault
    host: str | None
    since: float
    until: float


@dataclass(frozen=True, slots=True)
class Undoing:
    """What ends a fault, by the name of the fault."""

    fault: str
    act: Callable[[], None]


@dataclass(slots=True)
class Campaign:
    """Plays a programme on a stage; what happened stands in its fields afterwards.

    `missing` counts the faults that found nothing to be done to, `impossible` says why a fault
    cannot be injected here at all. `unanswerable` are the interventions about forgotten records
    that could not be closed by adopting those.
    """

    stage: Stage
    load: Load
    chance: random.Random
    say: Callable[[str], None] = print
    moments: list[Moment] = field(default_factory=list)
    missing: Counter[str] = field(default_factory=Counter)
    impossible: dict[str, str] = field(default_factory=dict)
    unanswerable: set[int] = field(default_factory=set)
    settled_after: float | None = None
    _undoing: list[tuple[float, int, Undoing]] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)
    _due: dict[str, float] = field(default_factory=dict)
    _drawn: Order | None = None
    _pause: threading.Event = field(default_factory=threading.Event)

    def play(self, programme: Programme) -> None:
        """All phases, then the end."""
        for phase in programme.phases:
            self._phase(phase)
        while len(self.stage.book.orders) < programme.tasks:
            self._submit()
        self._settle(programme.patience)

    def counts(self, phase: str | None = None) -> Counter[str]:
        """How often each fault was injected, in one phase or in all."""
        return Counter(
            moment.fault.name for moment in self.moments if phase in {None, moment.phase}
        )

    def stand_still(self, fault: str) -> tuple[float, float]:
        """The longest stand-still (s) under a fault, and how much of any was after its end."""
        spans = [(m.since, m.until) for m in self.moments if m.fault.name == fault]
        gaps = [self.stage.stand_stills.longest(*span) for span in spans]
        found = [gap for gap in gaps if gap is not None]
        whole = max((gap.seconds for gap in found), default=0.0)
        return whole, max((beyond(gap, spans) for gap in found), default=0.0)

    def stood_still(self, longer: float) -> dict[str, float]:
        """The faults for all after whose end nothing began for longer than so many seconds."""
        names = {moment.fault.name for moment in self.moments if moment.fault.for_all}
        after = {name: self.stand_still(name)[1] for name in names}
        return {name: seconds for name, seconds in after.items() if seconds > longer}

    def _phase(self, phase: Phase) -> None:
        began = time.monotonic()
        planned = self._schedule(phase, began)
        while True:
            self._turn(phase.busy)
            now = time.monotonic()
            if planned and planned[0][0] <= now:
                _, number, fault = heappop(planned)
                if not self._inject(phase.name, fault):
                    heappush(planned, (now + AGAIN_AFTER, number, fault))
            if self._is_over(planned, now - began - phase.seconds):
                break
        self.missing.update(fault.name for _, _, fault in planned)
        self._undo_all()
        told = ", ".join(f"{name} x {n}" for name, n in sorted(self.counts(phase.name).items()))
        spent = time.monotonic() - began
        self.say(f"{phase.name} ({spent:.0f} s): {told or 'no fault'}")

    def _schedule(self, phase: Phase, began: float) -> list[tuple[float, int, Fault]]:
        planned = [
            (began + self.chance.uniform(0.0, phase.seconds * 0.95), next(self._numbers), fault)
            for name, times in phase.faults.items()
            for fault in [REGISTRY[name]] * times
            if self._is_possible(fault)
        ]
        heapify(planned)
        return planned

    def _is_possible(self, fault: Fault) -> bool:
        lacking = fault.lacking(self.stage)
        if lacking is not None:
            self.impossible[fault.name] = lacking
        return lacking is None

    def _is_over(self, planned: list[tuple[float, int, Fault]], overtime: float) -> bool:
        if overtime < 0:
            return False
        return overtime > OVERTIME or not (planned or self.stage.afflicted)

    def _turn(self, busy: int) -> None:
        """What has to be seen to all the time."""
        now = time.monotonic()
        while self._undoing and self._undoing[0][0] <= now:
            self._undo_next()
        if self._is_time("look", LOOK_EVERY):
            self.stage.crew.revive()
            self.stage.resumptions.look()
            self.stage.stand_stills.look()
        if self.stage.book.spans and self._is_time("answer", FEED_EVERY):
            self._answer()
        if busy and self._is_time("feed", FEED_EVERY):
            self._feed(busy)
        self._pause.wait(TICK)

    def _is_time(self, what: str, every: float) -> bool:
        now = time.monotonic()
        if now < self._due.get(what, 0.0):
            return False
        self._due[what] = now + every
        return True

    def _answer(self) -> None:
        """Be the operator whom a database that was set back has asked: what hosts know counts."""
        for row in self.stage.rows.soon(ASKED):
            if row.id in self.unanswerable:
                continue
            try:
                self.stage.rows.adopt(row.id)
            except Transient:
                return
            except Rejected:
                self.unanswerable.add(row.id)

    def _feed(self, busy: int) -> None:
        """Keep enough work at hand; what was put off until later is none."""
        for _ in range(min(MOST_AT_ONCE, busy - self.stage.stand_stills.due)):
            self._submit()

    def _submit(self) -> None:
        """The next task; where the database is away its turn comes again, under the same tag."""
        self._drawn = order = self._drawn or self.load.draw()
        try:
            task_id = self.stage.rows.submit_once(order)
        except Transient:
            self._pause.wait(TICK)
            return
        self.stage.book.enter(task_id, order)
        self._drawn = None

    def _inject(self, phase: str, fault: Fault) -> bool:
        since = time.time()
        self.stage.resumptions.fault = fault.name
        injected = fault.inject(self.stage, self.chance)
        if injected is None:
            return False
        if fault.for_all:
            self.stage.resumptions.expect()
        until = time.time() + injected.after
        self.moments.append(Moment(phase, fault, injected.host, since, until))
        self._undo_later(fault, injected)
        return True

    def _undo_later(self, fault: Fault, injected: Injected) -> None:
        if injected.undo is not None:
            due = time.monotonic() + injected.after
            undoing = Undoing(fault.name, injected.undo)
            heappush(self._undoing, (due, next(self._numbers), undoing))

    def _undo_next(self) -> None:
        undoing = heappop(self._undoing)[2]
        self.stage.resumptions.fault = undoing.fault
        undoing.act()

    def _undo_all(self) -> None:
        while self._undoing:
            self._undo_next()

    def _settle(self, patience: float) -> None:
        began = time.monotonic()
        left = self._unrested()
        while left and time.monotonic() < began + patience:
            self._turn(0)
            if self._is_time("rest", FEED_EVERY):
                left = self._unrested()
        spent = time.monotonic() - began
        self.settled_after = None if left else spent
        self.say(f"settling ({spent:.0f} s): {left} tasks and reports have not come to rest")

    def _unrested(self) -> int:
        (found,) = self.stage.rows.all(UNDER_WAY)
        asked = {row.id for row in self.stage.rows.all(ASKED)} - self.unanswerable
        return int(found.tasks + found.reports) + len(asked)
