"""Notes on an attempt of an agent while it works: what people are told, as values.

The core knows nothing of them: no fact, no decision and no outcome follows from a note.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from shared.domain.agent import Progress, StuckStrategy
from shared.domain.compliance import ProtocolRule, Violation


class NoteKind(StrEnum):
    """What a note is about."""

    RUNNER_ENTERED = "runner_entered"
    STUCK = "stuck"
    TASK_VALIDATION = "task_validation"


class AgentState(StrEnum):
    """What a runner is doing."""

    MODEL = "waiting_for_model"  # an answer of the model is coming
    PROVIDER = "waiting_for_provider"  # the model has the request, and has not begun to answer
    TOOL = "in_tool"
    RETRYING = "retrying"  # a request to the model failed, and is sent again
    IDLE = "idle"  # nothing of all that
    ENDED = "ended"  # it has given its result


class Loop(StrEnum):
    """How an agent repeats itself."""

    SAME_RESULT = "same_result"  # the same action with the same result
    SAME_ERROR = "same_error"  # the same action, which fails each time
    MONOLOGUE = "monologue"  # the same text, and no action
    ALTERNATING = "alternating"  # two actions in turn, each with the same result


class EntryReason(StrEnum):
    """Why a runner is entered."""

    FIRST = "first"  # no other runner of its subtask has worked in this pass
    FAILURE = "failure"  # the one before it has failed
    TIMEOUT = "timeout"  # the time of the one before it is over
    STUCK = "stuck"  # the one before it made no progress, and was ended
    CONTINUED = "continued"  # nothing was against the one before it: it asked, or was cancelled


@dataclass(frozen=True, slots=True)
class RunnerEntered:
    """A runner starts to work on `tree`, the git tree that it finds in its workspace.

    `after` is the runner before it, which may be the same one; None for the first one.
    """

    runner: str
    tree: str
    reason: EntryReason = EntryReason.FIRST
    after: str | None = None


@dataclass(frozen=True, slots=True)
class FoundStuck:
    """The watchdog found no progress, and does now what `strategy` says.

    For `flat` seconds (longer than the `limit` of that state) none of the `indicators` has moved:
    its stream stands at `stream` bytes, its files at `tree`. Or it goes round: then `loop` says
    how, and `times` how often.
    """

    state: AgentState
    flat: float
    limit: float
    strategy: StuckStrategy
    indicators: tuple[Progress, ...] = ()
    stream: int = 0
    tree: str | None = None
    loop: Loop | None = None
    times: int = 0


@dataclass(frozen=True, slots=True)
class TaskValidated:
    """The conduct of the agent was judged (S4.45); `task` is what the plan calls the work.

    `unjudged` are the rules that nothing could be read about.
    """

    task: str
    compliant: bool
    violations: tuple[Violation, ...] = ()
    unjudged: tuple[ProtocolRule, ...] = ()


AttemptNote = RunnerEntered | FoundStuck | TaskValidated

NOTES: Final[Mapping[NoteKind, type[AttemptNote]]] = {
    NoteKind.RUNNER_ENTERED: RunnerEntered,
    NoteKind.STUCK: FoundStuck,
    NoteKind.TASK_VALIDATION: TaskValidated,
}
"""The form of each kind of note."""


def kind_of(note: AttemptNote) -> NoteKind:
    """The kind of a note."""
    return next(kind for kind, form in NOTES.items() if form is type(note))
