"""Entries of a timeline: what happened where, as values; a face finds the words."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from orchestrator.views.attempts import AttemptLine
from orchestrator.views.interventions import InterventionView
from orchestrator.views.values import RefValue
from shared.domain.attempt_notes import AttemptNote
from shared.domain.facts import Fact
from shared.domain.task import TaskPhase


@dataclass(frozen=True, slots=True)
class Recorded:
    """A fact that was folded in; `title` is that of its step, if it is about one."""

    fact: Fact
    title: str = ""


@dataclass(frozen=True, slots=True)
class Parked:
    """A fact that could not be folded in, and why."""

    error: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An event that this version cannot read, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class AttemptBegun:
    """An attempt as it was when it began."""

    attempt: AttemptLine


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    """An attempt that has ended."""

    attempt: AttemptLine


@dataclass(frozen=True, slots=True)
class Noted:
    """Something was noted about an attempt of an agent while it worked."""

    note: AttemptNote


@dataclass(frozen=True, slots=True)
class Escalated:
    """The author of step `step` was asked to revise it (S0.79)."""

    step: int


@dataclass(frozen=True, slots=True)
class Opened:
    """Something began to wait for a person."""

    intervention: InterventionView


@dataclass(frozen=True, slots=True)
class Closed:
    """Something no longer waits for a person."""

    intervention: InterventionView


@dataclass(frozen=True, slots=True)
class TaskEnded:
    """The task ended in that phase; an empty `reason` when nothing was said."""

    phase: TaskPhase
    reason: str


@dataclass(frozen=True, slots=True)
class Unclaimed:
    """Work on a queue that no worker of its role has taken for so many seconds.

    `workers` is the number of worker processes of any role that are connected; None if unknown.
    `places` is how many jobs those have in hand that could take it, `full_since` the time at which
    they took the last of these; None if they have none, so that something else is wrong.
    """

    queue: str
    role: str
    seconds: float
    workers: int | None = None
    places: int = 0
    full_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Unread:
    """Reports that no coordinator has read for so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A command whose unknown outcome nobody has told for so many seconds."""

    intervention: int
    reason: str
    seconds: float


About: TypeAlias = (
    Recorded
    | Parked
    | Unreadable
    | AttemptBegun
    | AttemptEnded
    | Noted
    | Escalated
    | Opened
    | Closed
    | TaskEnded
    | Unclaimed
    | Unread
    | Unanswered
)
"""What an entry is about."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry in the timeline of a task; its `id` is unique in the task and never changes.

    What stalls a task now has no id: it is not part of its story.
    """

    at: datetime
    ref: RefValue
    about: About
    id: str = ""
