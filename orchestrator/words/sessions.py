"""Where deliveries, sessions and checkpoints stand, in words."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from orchestrator.words.quantities import brief
from shared.domain.delivery import CheckpointEnding, DeliveryStatus, Rejection, Stage

_STAGES = {
    Stage.JUDGING: "it is merged and checked",
    Stage.REVIEWING: "a reviewer looks at it",
    Stage.ALLOWING: "waits for a person",
    Stage.QUEUED: "in the queue",
}
_REJECTIONS = {
    Rejection.GATE: "a gate refused it",
    Rejection.CONFLICT: "it conflicts with what was accepted before",
    Rejection.CHECK: "a check failed",
    Rejection.REVIEWER: "its reviewer rejected it",
    Rejection.PERSON: "a person rejected it",
}
_STATUSES = {
    DeliveryStatus.REFUSED: "not published",
    DeliveryStatus.PUBLISHED: "published",
    DeliveryStatus.ACCEPTED: "accepted, not on the remote yet",
    DeliveryStatus.REJECTED: "rejected",
    DeliveryStatus.WITHDRAWN: "withdrawn: its step was revised or ended before",
    DeliveryStatus.CHECKPOINTED: "on the remote",
}
_ENDINGS = {
    CheckpointEnding.COMPLETE: "complete",
    CheckpointEnding.DIVERGED: "stopped: the remote has other commits",
    CheckpointEnding.REFUSED: "stopped: the remote refused it",
    CheckpointEnding.UNPROVEN: "stopped before the remote was asked: its head is not attested",
    CheckpointEnding.GIVEN_UP: "given up before it was complete",
}


def where_now(
    status: DeliveryStatus, stage: Stage | None, rejection: Rejection | None, place: int = 0
) -> str:
    """Where a delivery is now."""
    if status is DeliveryStatus.PUBLISHED and stage is not None:
        at = f", place {place}" if place else ""
        return f"{_STAGES[stage]}{at}"
    why = f": {_REJECTIONS[rejection]}" if rejection is not None else ""
    return f"{_STATUSES[status]}{why}"


def counts_of(
    deliveries: Mapping[DeliveryStatus, int], under_way: Iterable[Stage | None]
) -> Iterator[str]:
    """How many deliveries are where, in the words of a list; `under_way` are their stages."""
    stages = Counter(each for each in under_way if each is not None)
    yield from (f"{stages[stage]} {words}" for stage, words in _STAGES.items() if stages[stage])
    for status, words in _STATUSES.items():
        known = stages.total() if status is DeliveryStatus.PUBLISHED else 0
        if (number := deliveries.get(status, 0) - known) > 0:
            yield f"{number} {words.partition(': ')[0]}"


def checkpoint_state(status: str, stage: str) -> str:
    """How far a checkpoint has come, or how it ended."""
    known = {ending.value: words for ending, words in _ENDINGS.items()}
    return known.get(status, f"under way: {stage.replace('_', ' ')}")


def short(commit: str | None) -> str:
    """A commit, as people write it."""
    return "none yet" if commit is None else commit[:12]


def goal_line(goal: str) -> str:
    """What a session is for, on one line."""
    return brief(goal, 60)
