"""Which runner is entered next, after one has ended without success (S4.46–S4.54).

A rule over the recorded ends of the runners: whoever drives the step on comes to the same choice.
The work goes on from the tree of the runner before (S4.47).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from shared.domain.agent import AgentWork, RunnerChoice, StuckStrategy, Trigger

MOST_RESTARTS = 2
"""How often `kill_and_retry` starts the same runner again before the next one is entered."""

ALL_FAILED = "All runners failed"


class RunnerEnd(StrEnum):
    """How a runner ended."""

    SUCCESS = "success"
    FAILURE = "failure"
    TIMEOUT = "timeout"
    STUCK = "stuck"  # the watchdog ended it


@dataclass(frozen=True, slots=True)
class RunnerRun:
    """A runner that was entered: its place in the chain, from 0, and how it ended."""

    place: int
    ended: RunnerEnd


@dataclass(frozen=True, slots=True)
class Enter:
    """Start this runner now; it may take `timeout` seconds."""

    place: int
    choice: RunnerChoice
    timeout: float


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The last runner succeeded: no other is entered (S4.52)."""


@dataclass(frozen=True, slots=True)
class TimeoutPropagates:
    """The last runner timed out, and none is left that a timeout enters (S4.53)."""


@dataclass(frozen=True, slots=True)
class Exhausted:
    """No runner is left (S4.54)."""

    @property
    def reason(self) -> str:
        """Why the work failed, in words."""
        return ALL_FAILED


Following = Enter | Succeeded | TimeoutPropagates | Exhausted


def following(
    chain: Sequence[RunnerChoice], work: AgentWork, runs: Sequence[RunnerRun]
) -> Following:
    """What comes after these runs, in the order in which they were made.

    `chain` is `work.chain` or, where the work names no runner, what the repository allows. Runners
    are tried in its order, which is that of their priorities (S4.51). The `trigger` of a runner
    says when it is entered (X11); one without a trigger is entered after a failure and after a
    timeout. A runner that is stuck asks no trigger: the strategy of its watchdog names what comes
    next (S4.34, S4.35). Each may take its own timeout, or the time budget.
    """
    if not runs:
        return _enter(chain, 0, work) if chain else Exhausted()
    last = runs[-1]
    if last.ended is RunnerEnd.SUCCESS:
        return Succeeded()
    if _may_restart(work, runs):
        return _enter(chain, last.place, work)
    entered = {run.place for run in runs}
    left = [place for place in range(len(chain)) if place not in entered]
    for place in left:
        if _is_entered(chain[place].trigger, last.ended):
            return _enter(chain, place, work)
    if last.ended is RunnerEnd.TIMEOUT and (left or len(chain) == 1):
        return TimeoutPropagates()
    return Exhausted()


def _enter(chain: Sequence[RunnerChoice], place: int, work: AgentWork) -> Enter:
    choice = chain[place]
    return Enter(place, choice, work.time_budget if choice.timeout is None else choice.timeout)


def _may_restart(work: AgentWork, runs: Sequence[RunnerRun]) -> bool:
    last = runs[-1]
    if last.ended is not RunnerEnd.STUCK:
        return False
    if work.watchdog.strategy is not StuckStrategy.KILL_AND_RETRY:
        return False
    stuck = sum(run.place == last.place and run.ended is RunnerEnd.STUCK for run in runs)
    return stuck <= MOST_RESTARTS


def _is_entered(trigger: Trigger | None, ended: RunnerEnd) -> bool:
    match ended:
        case RunnerEnd.TIMEOUT:
            return trigger in {None, Trigger.ON_TIMEOUT}
        case RunnerEnd.FAILURE:
            return trigger in {None, Trigger.ON_FAILURE}
    return True
