"""What a pass is asked, what it answers, and what it needs from outside beside its means."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from shared.domain.approval import SubtaskPart
from shared.domain.attempt import Attempt
from shared.domain.budget import Ending
from shared.domain.config import Policy
from shared.domain.error_class import ErrorClass
from shared.domain.plan import Step, Subtask
from shared.domain.question import Question
from shared.domain.target import Target
from shared.domain.verdict import Verdict

Cancelled = Callable[[], bool]
"""Answers True once the work at hand must stop."""


@dataclass(frozen=True, slots=True)
class Undo:
    """A subtask of an earlier revision that ran and is to be undone; its command is the rollback.

    It has no check, no preconditions and no needs.
    """

    revision: int
    subtask: Subtask


@dataclass(frozen=True, slots=True)
class PassOrder:
    """One pass to carry out: a step in one run under one revision.

    `undo` is what is undone before anything else, in that order.

    `earlier` are the attempts already recorded of this step in this run, oldest first: those of
    this revision count (and those of this pass are not repeated), those of other revisions only
    give the next attempt its number.
    """

    run_id: int
    task_ref: str
    target: Target
    step: Step
    subtasks: tuple[Subtask, ...]
    revision: int
    pass_no: int
    policy: Policy
    earlier: tuple[Attempt, ...] = ()
    undo: tuple[Undo, ...] = ()


@dataclass(frozen=True, slots=True)
class Unapproved:
    """A text of a subtask that waits for a person's approval, and the verdict on it."""

    subtask: int
    part: SubtaskPart
    text: str
    verdict: Verdict


class Approvals(Protocol):
    """What a person has approved for the step at hand: a text of a subtask, byte for byte."""

    def holds(self, subtask: int, text: str) -> bool:
        """Whether there is an approval that is not used up."""
        ...

    def spend(self, subtask: int, text: str, key: str) -> bool:
        """Use an approval for what starts under that key; False when there is none.

        What serves once serves that key again, so that a pass which is driven on has it still, and
        no other. It is written down for good before this returns. Raises Transient while that
        cannot be done.
        """
        ...


class PassControl(Protocol):
    """What the means of a pass hears of those who wait for it, and where it sends live output."""

    def output(self, key: str, stream: str, chunk: bytes) -> None:
        """Output of the attempt with that key arrived."""
        ...

    def cancelled(self) -> bool:
        """True once the pass must stop: nothing further of it is started."""
        ...

    def withdrawn(self) -> bool:
        """True once a person has cancelled the pass: what runs for it is ended."""
        ...

    def unwanted(self, key: str) -> bool:
        """True once a person wants that one attempt ended, and the pass to go on."""
        ...


class PassLog(PassControl, Protocol):
    """Where a pass writes what happens; it returns at once and writes in groups."""

    def started(self, attempt: Attempt) -> None:
        """An attempt begins; its outcome and end are not known yet and are ignored."""
        ...

    def finished(self, attempt: Attempt) -> None:
        """An attempt ended."""
        ...


@dataclass(frozen=True, slots=True)
class PassResult:
    """How a pass ended; `errors` counts its own, and those of a pass that it continues.

    `unapproved` or `question` is what it waits for, where it ended for that; `error_class` is the
    kind of the last error that it met.
    """

    ending: Ending
    errors: int
    reason: str
    unapproved: tuple[Unapproved, ...] = ()
    error_class: ErrorClass = ErrorClass.OTHER
    question: Question | None = None
