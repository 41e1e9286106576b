"""The order and the result of a pass, and the ports that it needs besides its means."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from shared.domain.approval import SubtaskPart
from shared.domain.attempt import Attempt
from shared.domain.attempt_notes import AttemptNote
from shared.domain.budget import Ending
from shared.domain.config import Policy
from shared.domain.error_class import ErrorClass
from shared.domain.plan import Step
from shared.domain.preview import Preview
from shared.domain.question import PassReply, Question
from shared.domain.records import HostRecord
from shared.domain.rejected_delivery import RejectedDelivery
from shared.domain.spending import Unpaid
from shared.domain.target import Target
from shared.domain.verdict import Verdict
from shared.secrets.sent import SentSubtask

Cancelled = Callable[[], bool]
"""Returns True once the current work must stop."""


@dataclass(frozen=True, slots=True)
class Undo:
    """The rollback of a subtask of an earlier revision that ran; its command is the rollback.

    It has no check, no preconditions and no needs.
    """

    revision: int
    subtask: SentSubtask


@dataclass(frozen=True, slots=True)
class PassOrder:
    """One pass to carry out: a step in one run under one revision.

    `undo` holds the rollbacks that come before anything else, in order.

    `earlier` holds the recorded attempts of this step in this run, oldest first. Those of this
    revision count, and those of this pass are not repeated; those of other revisions only
    determine the number of the next attempt. `began_red` are the keys of those that an earlier
    driver of this pass has begun after it had seen their check red. `replies` holds what people
    have answered to the questions of this step in this run, oldest first. `rejections` says why
    earlier deliveries of the step were rejected, oldest first.
    """

    run_id: int
    task_ref: str
    target: Target
    step: Step
    subtasks: tuple[SentSubtask, ...]
    revision: int
    pass_no: int
    policy: Policy
    earlier: tuple[Attempt, ...] = ()
    began_red: frozenset[str] = frozenset()
    undo: tuple[Undo, ...] = ()
    replies: tuple[PassReply, ...] = ()
    rejections: tuple[RejectedDelivery, ...] = ()


@dataclass(frozen=True, slots=True)
class Unapproved:
    """A text of a subtask that waits for a person's approval, and the verdict on it."""

    subtask: int
    part: SubtaskPart
    text: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Granted:
    """What lets a text run that asks: a person's approval, or the `rule` and what it has seen."""

    rule: str = ""
    preview: Preview | None = None


class Approvals(Protocol):
    """The approvals for the current step: each is for one text of a subtask, byte for byte."""

    def holds(self, subtask: int, text: str) -> bool:
        """Whether there is an approval that nothing has used up."""
        ...

    def spend(self, subtask: int, text: str, key: str) -> Granted | None:
        """Use up an approval for the attempt with that key; None if there is none.

        The same key may use it again, so that the next driver of the pass still has it; no other
        key may. The use is recorded for good before this returns. Raises Transient while that is
        not possible.
        """
        ...


class PassControl(Protocol):
    """Tells the means of a pass when to stop, and takes their live output and their notes."""

    def output(self, key: str, stream: str, chunk: bytes) -> None:
        """Take output of the attempt with that key."""
        ...

    def note(self, key: str, note: AttemptNote) -> None:
        """Tell people something about the attempt with that key.

        It is recorded for good before this returns, unless the database is away for long.
        """
        ...

    def cancelled(self) -> bool:
        """True once the pass must stop: it starts nothing more."""
        ...

    def withdrawn(self) -> bool:
        """True once a person has cancelled the pass: whatever runs for it is ended."""
        ...

    def unwanted(self, key: str) -> bool:
        """True once a person wants to end that attempt but continue the pass."""
        ...


class PassLog(PassControl, Protocol):
    """Records what happens in a pass; every function returns at once and writes in groups."""

    def started(self, attempt: Attempt) -> None:
        """An attempt starts; its outcome and end are not known yet, and are ignored."""
        ...

    def finished(self, attempt: Attempt) -> None:
        """An attempt ended."""
        ...


@dataclass(frozen=True, slots=True)
class PassResult:
    """How a pass ended; `errors` counts its own errors and those of the passes it continues.

    `unapproved` or `question` is what it waits for, if it ended to wait; `error_class` is the
    kind of its last error. `records` is what the target has recorded and the database does not
    know, and `unpaid` what an agent could not pay, if it ended for that. `repeated` says that its
    delivery was refused because the same was rejected before.
    """

    ending: Ending
    errors: int
    reason: str
    unapproved: tuple[Unapproved, ...] = ()
    error_class: ErrorClass = ErrorClass.OTHER
    question: Question | None = None
    records: tuple[HostRecord, ...] = ()
    unpaid: Unpaid | None = None
    repeated: bool = False
