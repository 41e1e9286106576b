"""Whether an agent at work still makes progress (S4.21–S4.36); pure, the clock is the caller's.

A `Watch` is what is known about one attempt. It is a plain value that `shared.wire` stores, and all
of it follows from records, so that a driver that takes the attempt over need not have it:

- the state of the runner and its moves: the raw stream on the host, read again from its start;
- when it last moved: when that stream last grew (`since`), which its file says.

An agent is stuck when every enabled sign of progress has been flat for longer than the limit of its
state, or when it repeats itself (`loops`).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from shared.domain.agent import Progress, StuckStrategy, Watchdog
from shared.domain.attempt_notes import AgentState, FoundStuck, Loop
from workers.agents.events import AgentEvent, RetriedModel, RunnerEnded, Unreadable
from workers.agents.loops import LoopLimits, MoveHistory, Repetition

LONGEST_LOOK = 30.0
"""Seconds between two looks at an attempt, at most (S4.36)."""

LINGER = 15.0
"""Seconds that a runner may still run after its result: some never end by themselves."""

CPU_FLOOR = 0.02
"""Seconds of CPU time a second: a process that only waits uses less."""

IO_FLOOR = 1024.0
"""Bytes a second that processes read and write: one that only waits moves fewer."""

_MINUTE = 60.0


_WORKS_ITSELF = frozenset({AgentState.TOOL, AgentState.IDLE})
"""The states in which the processes of an attempt have work of their own.

While a runner waits for the model, a busy process is not progress: some spin when they hang.
"""

_SAME_ACTION = frozenset({Loop.SAME_RESULT, Loop.SAME_ERROR})


@dataclass(frozen=True, slots=True)
class Signs:
    """Counters of an attempt since its start, as one look finds them.

    `tree` is the tree of the last snapshot and `head` the commit that is checked out, `cpu`
    (seconds) and `io` (bytes) are those of its processes; None where nobody has looked. The gateway
    counts `tokens` and `heard`, the bytes of answers, and `requests` are those that it has in
    flight; None where the runner does not go through it. `unanswered` says that no answer to them
    has begun, `provider_away` that the gateway waits to repeat one of them.
    """

    stream: int = 0
    tree: str | None = None
    head: str | None = None
    cpu: float | None = None
    io: int | None = None
    tokens: int | None = None
    heard: int | None = None
    requests: int | None = None
    unanswered: bool = False
    provider_away: bool = False

    def filled(self, before: "Signs") -> "Signs":
        """The same, with what only the look before has found."""
        return replace(
            self,
            tree=self.tree or before.tree,
            head=self.head or before.head,
            cpu=before.cpu if self.cpu is None else self.cpu,
            io=before.io if self.io is None else self.io,
            tokens=before.tokens if self.tokens is None else self.tokens,
            heard=before.heard if self.heard is None else self.heard,
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """How long each state may last without progress, in seconds."""

    model: float
    provider: float
    tool: float
    retrying: float
    idle: float

    @classmethod
    def of(cls, interval: float) -> "Limits":
        """The limits for the `check_interval` of a watchdog (S4.22).

        A tool may wait for something that cannot be seen from here, and a provider that is slow or
        away is not the agent's fault: both get more time.
        """
        return cls(
            model=interval,
            provider=3 * interval,
            tool=2 * interval,
            retrying=3 * interval,
            idle=interval,
        )

    def of_state(self, state: AgentState) -> float:
        """The limit of one state; for the last one see `Watch.lingers`."""
        return {
            AgentState.MODEL: self.model,
            AgentState.PROVIDER: self.provider,
            AgentState.TOOL: self.tool,
            AgentState.RETRYING: self.retrying,
            AgentState.IDLE: self.idle,
            AgentState.ENDED: LINGER,
        }[state]


@dataclass(frozen=True, slots=True)
class Stuck:
    """An agent that makes no progress.

    It has been flat for `flat` seconds, longer than `limit`, or it repeats itself (`repetition`).
    """

    state: AgentState
    flat: float
    limit: float
    repetition: Repetition | None = None


@dataclass(frozen=True, slots=True)
class Watch:
    """What is known about one attempt; see the module. Times are in seconds, of any one clock.

    `moved_at` is when it last made progress, `seen_at` when `signs` were taken, `ended_at` when the
    runner gave its result. `notified` says that a person was told since the last progress, and
    `told_loops` are the loops that a person was told of since the files were last new. A runner
    without events (`Capabilities`) only writes text: its lines say nothing about its state, and
    equal ones are no monologue.
    """

    moved_at: float
    seen_at: float
    signs: Signs | None = None
    phase: AgentState = AgentState.IDLE
    history: MoveHistory = field(default_factory=MoveHistory)
    ended_at: float | None = None
    notified: bool = False
    told_loops: tuple[Loop, ...] = ()
    has_events: bool = True

    @classmethod
    def begin(cls, at: float, *, has_events: bool = True) -> "Watch":
        """The watch over an attempt that starts now."""
        return cls(moved_at=at, seen_at=at, has_events=has_events)

    @property
    def state(self) -> AgentState:
        """What the runner is doing, from its stream and from the gateway."""
        if self.ended_at is not None:
            return AgentState.ENDED
        if self.history.in_tool:
            return AgentState.TOOL
        signs = self.signs or Signs()
        if signs.provider_away or self.phase is AgentState.RETRYING:
            return AgentState.RETRYING
        if signs.requests is None:
            return self.phase
        if not signs.requests:
            return AgentState.IDLE
        return AgentState.PROVIDER if signs.unanswered else AgentState.MODEL

    @property
    def lingers_at(self) -> float | None:
        """When a runner that has given its result is ended; None while it has given none."""
        return None if self.ended_at is None else self.ended_at + LINGER

    def hear(
        self, events: Iterable[AgentEvent], at: float, *, limits: LoopLimits | None = None
    ) -> "Watch":
        """The watch after these events of the runner.

        They change its state. That the stream has grown is among the signs.
        """
        heard = self
        for event in events if self.has_events else ():
            heard = replace(
                heard,
                phase=_phase(heard.phase, event),
                history=heard.history.hear(event, limits or LoopLimits()),
                ended_at=at if isinstance(event, RunnerEnded) else heard.ended_at,
            )
        return heard

    def see(self, signs: Signs, at: float, watchdog: Watchdog) -> "Watch":
        """The watch after a look at the attempt (S4.28).

        Signs are compared with those of the last look (X14). The first ones show nothing: what was
        there at the start is not progress.
        """
        before = self.signs
        signs = signs if before is None else signs.filled(before)
        history = self.history.see_tree(signs.tree)
        is_new = bool(self.history.trees) and history is not self.history
        told = () if is_new else self.told_loops
        seen = replace(self, signs=signs, seen_at=at, history=history, told_loops=told)
        if before is None or not _has_moved(before, signs, at - self.seen_at, seen.state, watchdog):
            return seen
        return replace(seen, moved_at=at, notified=False)

    def stuck(
        self, at: float, watchdog: Watchdog, *, loops: LoopLimits | None = None
    ) -> Stuck | None:
        """Whether the agent is stuck (S4.29); never with the watchdog disabled (S4.27).

        Nor is one that has given its result: see `lingers_at`. A loop that a person was told of is
        not found again, or each look at an agent that goes round would find it.
        """
        state = self.state
        if not watchdog.enabled or state is AgentState.ENDED:
            return None
        flat = max(0.0, at - self.moved_at)
        limit = self.limit(watchdog)
        repetition = self.history.repetition(loops or LoopLimits())
        if repetition is not None and self._is_told(repetition.loop):
            repetition = None
        if repetition is not None or flat > limit:
            return Stuck(state, flat, limit, repetition)
        return None

    def _is_told(self, loop: Loop) -> bool:
        """Whether a person was told of it; an action that fails again has the same result, too."""
        same = _SAME_ACTION if loop in _SAME_ACTION else {loop}
        return not same.isdisjoint(self.told_loops)

    def limit(self, watchdog: Watchdog) -> float:
        """How long the present state may last without progress, in seconds."""
        return Limits.of(watchdog.check_interval).of_state(self.state)

    def since(self, moved_at: float) -> "Watch":
        """The same for an attempt that is known to have moved last at that time."""
        return replace(self, moved_at=min(self.moved_at, moved_at))

    def without(self, seconds: float) -> "Watch":
        """The same after so many seconds in which the whole machine stood still."""
        return replace(self, moved_at=self.moved_at + seconds, seen_at=self.seen_at + seconds)

    def told(self, loop: Loop | None = None) -> "Watch":
        """The watch once a person was told, of this loop if any: only what is new is told again."""
        loops = self.told_loops if loop is None else (*self.told_loops, loop)
        return replace(self, notified=True, told_loops=loops, history=self.history.forgotten())

    def forgotten(self) -> "Watch":
        """The watch without what the agent has done so far: only new repetitions count."""
        return replace(self, history=self.history.forgotten())

    def note(self, stuck: Stuck, watchdog: Watchdog) -> FoundStuck:
        """What people are told about it."""
        signs, repetition = self.signs or Signs(), stuck.repetition
        return FoundStuck(
            stuck.state,
            stuck.flat,
            stuck.limit,
            watchdog.strategy,
            tuple(each for each in Progress if each in watchdog.indicators),
            signs.stream,
            signs.tree,
            loop=None if repetition is None else repetition.loop,
            times=0 if repetition is None else repetition.times,
        )


def response(watch: Watch, stuck: Stuck | None, watchdog: Watchdog) -> StuckStrategy | None:
    """What to do now (S4.24); None for nothing.

    A person is told once, until there is progress again; of a loop, until the files are new.
    """
    if stuck is None:
        return None
    if watchdog.strategy is StuckStrategy.NOTIFY and watch.notified and stuck.repetition is None:
        return None
    return watchdog.strategy


def look_every(watchdog: Watchdog, heartbeat: float) -> float:
    """Seconds between two looks: with each heartbeat, and often enough for a short interval."""
    return min(heartbeat, LONGEST_LOOK, watchdog.check_interval / 2)


def describe(task: str, stuck: Stuck, strategy: StuckStrategy, runner: str = "") -> str:
    """What was found, and what is done about it, in words (S4.33–S4.35).

    `runner` is the one that is entered next, if that is known.
    """
    found = f"Task {task} appears stuck ({_finding(stuck)})"
    match strategy:
        case StuckStrategy.NOTIFY:
            return found
        case StuckStrategy.KILL_AND_RETRY:
            return f"{found}: it is ended and tried again"
        case StuckStrategy.NEXT_RUNNER:
            return f"{found}: it is ended, and {runner or 'the next runner'} goes on"


def _finding(stuck: Stuck) -> str:
    if stuck.repetition is None:
        return f"no progress for {_span(stuck.limit)}"
    times = stuck.repetition.times
    match stuck.repetition.loop:
        case Loop.SAME_RESULT:
            return f"the same action with the same result {times} times"
        case Loop.SAME_ERROR:
            return f"the same action failed {times} times"
        case Loop.MONOLOGUE:
            return f"the same words {times} times"
        case Loop.ALTERNATING:
            return f"the same two actions in turn {times} times"


def _span(seconds: float) -> str:
    """`5+ min`, as S4.33 has it; what is not whole minutes is in seconds."""
    minutes = seconds / _MINUTE
    return f"{minutes:g}+ min" if minutes.is_integer() else f"{seconds:g}+ s"


def _phase(before: AgentState, event: AgentEvent) -> AgentState:
    """What the runner does after this event, tools aside."""
    match event:
        case RetriedModel():
            return AgentState.RETRYING
        case Unreadable():
            return before
    return AgentState.MODEL


def _has_moved(
    before: Signs, now: Signs, span: float, state: AgentState, watchdog: Watchdog
) -> bool:
    """Whether any enabled sign shows progress between two looks (S4.23, S4.30–S4.32)."""
    signs = {
        Progress.FILES_CHANGED: before.tree is not None and now.tree != before.tree,
        Progress.COMMITS: before.head is not None and now.head != before.head,
        Progress.LOG_ACTIVITY: _is_active(before, now, span, state),
    }
    return any(signs[indicator] for indicator in watchdog.indicators)


def _is_active(before: Signs, now: Signs, span: float, state: AgentState) -> bool:
    if now.stream != before.stream:
        return True
    if _differs(before.tokens, now.tokens) or _differs(before.heard, now.heard):
        return True
    if state not in _WORKS_ITSELF:
        return False
    return _has_used(before.cpu, now.cpu, CPU_FLOOR * span) or _has_used(
        before.io, now.io, IO_FLOOR * span
    )


def _differs(before: int | None, now: int | None) -> bool:
    return None not in {before, now} and before != now


def _has_used(before: float | None, now: float | None, floor: float) -> bool:
    """Whether processes used more than the floor; with less than before, one has ended."""
    if before is None or now is None:
        return False
    return now < before or now - before > floor
