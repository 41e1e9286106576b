"""Everybody in turn, so that a busy minute of the machine hits all alike."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from benchmarks.peers import inside, outside
from benchmarks.peers.catalogue import Contestant, Kind
from benchmarks.peers.environments import last_words
from benchmarks.peers.outside import DidNotAnswerError
from benchmarks.peers.takings import Figure, Taking, Takings
from benchmarks.peers.workloads import Workload
from benchmarks.stage import Stage

Take = Callable[[Contestant, Workload], Taking]
Say = Callable[[str], None]

LONGEST: Final = 13 * 60.0
"""Seconds after which nothing further is begun."""

TOO_LATE: Final = "the time of the run was over"


def taker(stage: Stage) -> Take:
    """How anybody's taking is made on that stage."""

    def take(contestant: Contestant, workload: Workload) -> Taking:
        if contestant.kind is Kind.PEER:
            return outside.take(stage, contestant, workload)
        return inside.take(stage, contestant, workload)

    return take


def measure(
    take: Take,
    contestants: Sequence[Contestant],
    workloads: Sequence[Workload],
    say: Say,
    *,
    at_most: int,
    longest: float = LONGEST,
) -> list[Figure]:
    """Every contestant's figures at those of `workloads` that it does, in its number of rounds.

    Who is named twice has two turns a round: before and after the others, so that neither's minute
    was the better. There are not more than `at_most` rounds, and nothing is begun after `longest`
    seconds. Who fails at a workload is not asked for it again.
    """
    gathered = {
        (workload.key, contestant.name): Takings()
        for workload in workloads
        for contestant in contestants
        if workload.key in keys(contestant)
    }
    deadline = time.monotonic() + longest
    for turn in range(min(at_most, max(each.rounds for each in contestants))):
        for contestant, workload in turns(contestants, workloads, turn):
            takings = gathered[workload.key, contestant.name]
            if takings.failure:
                continue
            if time.monotonic() > deadline:
                takings.failure = TOO_LATE
            else:
                once(take, contestant, workload, takings)
            say(progress(turn, contestant, workload, takings))
    return [takings.figure(*key) for key, takings in gathered.items()]


def keys(contestant: Contestant) -> set[str]:
    """The keys of its workloads."""
    return {workload.key for workload in contestant.workloads}


def turns(
    contestants: Sequence[Contestant], workloads: Sequence[Workload], turn: int
) -> Iterator[tuple[Contestant, Workload]]:
    """Who does what in a round: workload by workload, so that what is compared stands close."""
    for workload in workloads:
        for contestant in contestants:
            if turn < contestant.rounds and workload.key in keys(contestant):
                yield contestant, workload


def once(take: Take, contestant: Contestant, workload: Workload, takings: Takings) -> None:
    """One taking, or the reason why there is none."""
    try:
        takings.taken.append(take(contestant, workload))
    except DidNotAnswerError as error:
        takings.failure = str(error)
    except Exception as error:  # noqa: BLE001 - whatever befalls one, the others are measured
        takings.failure = f"{type(error).__name__}: {last_words(str(error))}"


def progress(turn: int, contestant: Contestant, workload: Workload, takings: Takings) -> str:
    """A line for whoever watches."""
    said = takings.failure or f"{takings.taken[-1].rate:,.1f} {workload.unit}"
    return f"round {turn + 1}, {workload.key}, {contestant.name}: {said}"
