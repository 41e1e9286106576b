"""Asks a host about what has failed there, in at most two round trips (S0.50, S0.51)."""

import time
from collections.abc import Mapping, Sequence

import structlog

from shared.domain.errors import Transient
from workers.evidence.causes import Failure, followed, pids
from workers.evidence.machine import clock_of
from workers.evidence.observation import Observation, observe
from workers.evidence.questions import questions
from workers.evidence.things import Thing
from workers.shells import snapshot
from workers.shells.door import Judge
from workers.shells.ports import Shell

_SECOND_TIMEOUT = 15.0
"""Seconds for the questions that follow from answers."""

log = structlog.get_logger()


def investigate(shell: Shell, guard: Judge, failures: Sequence[Failure] = ()) -> Observation:
    """The state of a host, and what is wrong there with the things that the failures name.

    What the answers name in turn (a port in a journal, a program of a unit) is asked about once
    more. Every question passes the guard; one that it does not allow is left out. Raises what the
    shell raises; if the connection is lost at the second round, the first one has to do.
    """
    things = [each for failure in failures for each in failure.things]
    began = time.time()
    answers = snapshot.take(shell, guard, probes={**snapshot.PROBES, **questions(things)})
    clock_off = _distance(clock_of(answers), began, time.time())
    try:
        answers = _merged(answers, _second(shell, guard, failures, answers))
    except Transient as error:
        log.warning("second_questions_failed", stage=error.stage, reason=error.reason)
    return observe(failures, answers, clock_off=clock_off)


def _second(
    shell: Shell, guard: Judge, failures: Sequence[Failure], answers: Mapping[str, str]
) -> dict[str, str]:
    """The answers to what the first answers led to; empty if they led nowhere."""
    things: dict[Thing, None] = {}
    processes: dict[int, None] = {}
    for failure in failures:
        things |= dict.fromkeys(followed(failure, answers))
        processes |= dict.fromkeys(pids(failure, answers))
    asked = questions(tuple(things), processes)
    return snapshot.take(shell, guard, probes=asked, timeout=_SECOND_TIMEOUT) if asked else {}


def _merged(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, str]:
    """Both answers; of a question that was asked twice, one under the other."""
    both = {name: f"{first[name]}\n{second[name]}" for name in first.keys() & second.keys()}
    return {**first, **second, **both}


def _distance(clock: int | None, began: float, ended: float) -> float:
    """The seconds that the clock of the host is ahead, measured between these two moments."""
    if clock is None:
        return 0.0
    return min(0.0, clock - began) or max(0.0, clock - ended)
