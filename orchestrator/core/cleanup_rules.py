"""What follows from a command that runs on after its step was cancelled.

The step stays `cancelled`. A worker is sent to end the command, up to `CLEANUP_TRIES` times. After
that the outcome of the command is unknown.
"""

from dataclasses import replace

from orchestrator.core.decisions import CloseAttempt, Enqueue
from orchestrator.core.state import StepState
from shared.domain.facts import CleanupFinished, CommandLeftRunning, JobFailed, WorkerLost
from shared.domain.jobs import JobKind
from shared.domain.task import StepPhase

CLEANUP_TRIES = 8
"""How often a worker is sent to end what a cancelled step left running, at growing intervals."""

CleanupFact = CommandLeftRunning | CleanupFinished | JobFailed
CleanupAdvance = tuple[StepState, tuple[Enqueue | CloseAttempt, ...]]


def is_about_cleanup(fact: object) -> bool:
    """Whether the fact tells of what a cancelled step left running."""
    if isinstance(fact, JobFailed | WorkerLost):
        return fact.kind is JobKind.CLEAN_UP
    return isinstance(fact, CommandLeftRunning | CleanupFinished)


def overtaken_cleanup(step: StepState, fact: CleanupFact) -> bool:
    """Whether the fact is about another try than the one under way."""
    if isinstance(fact, CommandLeftRunning):
        return step.phase is not StepPhase.CANCELLED or step.cleanups > 0
    return step.cleanups != fact.postponed + 1


def after_left_running(step: StepState, fact: CommandLeftRunning) -> CleanupAdvance:
    """A command of a cancelled step runs without a worker: one is sent to end it."""
    return replace(step, cleanups=1), (_clean_up(fact, postponed=0),)


def after_cleanup(step: StepState) -> CleanupAdvance:
    """What ran has ended."""
    return replace(step, cleanups=0), ()


def after_failed_cleanup(step: StepState, fact: JobFailed) -> CleanupAdvance:
    """A worker could not end it: the next one is sent after 2, 4, 8 … seconds, until none is."""
    if step.cleanups >= CLEANUP_TRIES:
        closed = CloseAttempt(step.ordinal, fact.revision, fact.pass_no)
        return replace(step, cleanups=0), (closed,)
    again = _clean_up(fact, postponed=step.cleanups)
    return replace(step, cleanups=step.cleanups + 1), (again,)


def _clean_up(fact: CommandLeftRunning | JobFailed, *, postponed: int) -> Enqueue:
    return Enqueue(
        JobKind.CLEAN_UP,
        fact.step,
        revision=fact.revision,
        pass_no=fact.pass_no,
        delay=2.0**postponed if postponed else 0.0,
        postponed=postponed,
    )
